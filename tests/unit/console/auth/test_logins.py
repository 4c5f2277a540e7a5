"""Files of tokens: read again when they change, and what is wrong in them does not count."""

import os
from pathlib import Path

import pytest

from streams.console.auth.logins import TokenFile
from streams.console.auth.tokens import agents_of, people_of, whose
from streams.core.errors import ConfigurationError
from tests.unit.console.auth.door_server import ANA, VIC, digest


def file_with(path: Path, text: str) -> TokenFile:
    path.write_text(text)
    return TokenFile(path, people_of, "EDDY_CONSOLE_TOKENS")


def names(file: TokenFile) -> list[str]:
    return [person.name for person in file.listed().people]


def test_a_change_counts_at_once(tmp_path: Path) -> None:
    path = tmp_path / "people"
    file = file_with(path, f"ana:operator:{digest(ANA)}\n")
    assert names(file) == ["ana"]
    path.write_text(f"vic:viewer:{digest(VIC)}\n# gone: ana\n")
    assert names(file) == ["vic"]


def test_a_file_that_takes_the_place_of_another_counts(tmp_path: Path) -> None:
    # As Kubernetes and editors write: a file of the same size and time.
    path, other = tmp_path / "people", tmp_path / "other"
    file = file_with(path, f"ana:viewer:{digest(ANA)}\n")
    other.write_text(f"vic:viewer:{digest(VIC)}\n")
    status = path.stat()
    os.utime(other, ns=(status.st_atime_ns, status.st_mtime_ns))
    other.replace(path)
    assert names(file) == ["vic"]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("ana:operator:secret", "line 2: it must end with the SHA-256 of the token, 64 hexadecimal digits"),
        ("ana:operator", "line 2: it must end with the SHA-256 of the token, 64 hexadecimal digits"),
        (f"ana:root:{digest(ANA)}", "line 2: the role must be viewer or operator"),
        (f"ana:agent:{digest(ANA)}", "line 2: the role must be viewer or operator"),
        (f"ana:{digest(ANA)}", "line 2: the role must be viewer or operator"),
        (f":viewer:{digest(ANA)}", "line 2: the name must have 1 to 100 printable characters"),
        (f"a\u202eb:viewer:{digest(ANA)}", "line 2: the name must have 1 to 100 printable characters"),
    ],
)
def test_a_wrong_line_stops_the_start_and_is_not_repeated(tmp_path: Path, line: str, problem: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        file_with(tmp_path / "people", f"vic:viewer:{digest(VIC)}\n{line}\n")
    assert str(raised.value) == f"EDDY_CONSOLE_TOKENS, {tmp_path / 'people'}: {problem}."


def test_a_line_that_becomes_wrong_does_not_count_and_the_others_do(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "people"
    file = file_with(path, f"ana:operator:{digest(ANA)}\n")
    path.write_text(f"ana:operator:{ANA}\nvic:viewer:{digest(VIC)}\n")
    assert names(file) == names(file) == ["vic"]
    assert ANA not in caplog.text
    assert [record.getMessage() for record in caplog.records] == [
        (
            "EDDY_CONSOLE_TOKENS: line 1: it must end with the SHA-256 of the token, 64 hexadecimal digits. "
            "What cannot be read does not count"
        )
    ]


def test_a_file_that_is_gone_lets_nobody_in_until_it_is_back(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "people"
    file = file_with(path, f"ana:operator:{digest(ANA)}\n")
    path.unlink()
    assert names(file) == names(file) == []
    assert len(caplog.records) == 1
    path.write_bytes(b"\xff\xfe")
    assert names(file) == []
    path.write_text(f"ana:operator:{digest(ANA)}\n")
    assert names(file) == ["ana"]


def test_a_file_that_is_not_there_stops_the_start(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="it cannot be read"):
        TokenFile(tmp_path / "nowhere", people_of, "EDDY_CONSOLE_TOKENS")


def test_a_person_may_have_two_tokens_while_one_takes_the_place_of_the_other() -> None:
    people = people_of(f"ana:operator:{digest('old')}\nana:operator:{digest('new').upper()}\n").people
    assert [getattr(whose(token, people), "name", None) for token in ("old", "new", "older")] == [
        "ana",
        "ana",
        None,
    ]


def test_a_pattern_that_would_take_long_to_search_is_refused() -> None:
    listed = agents_of(f"ci:{'*a' * 2_000}*:{digest('x')}\nci::{digest('x')}")
    assert listed.agents == ()
    assert listed.wrong == tuple(f"line {n}: the pattern of agent_id is missing or too long" for n in (1, 2))

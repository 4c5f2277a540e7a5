"""Files of programs that are known and not read."""

from pathlib import Path

import pytest

from streams.core.errors import ConfigurationError
from streams.formats.format_detection import what_it_is
from streams.formats.intake import Intake
from streams.formats.reading import entries


@pytest.mark.parametrize(
    ("path", "head", "said"),
    [
        ("x/.aider.chat.history.md", b"\n# aider chat started at 2026-01-01 10:00:00", "Aider"),
        ("home/.cursor/projects/x/agent.json", b"{}", "Cursor"),
        ("home/.kimi/sessions/x/context.jsonl", b"{}", "Kimi"),
        ("home/.factory/sessions/x.jsonl", b"{}", "Droid"),
        ("home/.grok/x.json", b"{}", "Grok"),
        ("home/.local/share/goose/sessions/x.jsonl", b"{}", "Goose"),
        ("state.vscdb", b"SQLite format 3\0", "SQLite"),
    ],
)
def test_a_file_of_a_known_program_is_named(path: str, head: bytes, said: str) -> None:
    sentence = what_it_is(head, path)
    assert sentence is not None
    assert said in sentence


def test_any_other_file_is_not(tmp_path: Path) -> None:
    assert what_it_is(b"# notes about aider", str(tmp_path / "notes.md")) is None


def test_what_it_is_is_said_instead_of_the_formats_that_were_tried(tmp_path: Path) -> None:
    file = tmp_path / ".aider.chat.history.md"
    file.write_text("# aider chat started at 2026-01-01\n\n#### fix it\n")
    intake = Intake()
    with pytest.raises(ConfigurationError, match="is the chat history of Aider"):
        list(entries([str(file)], intake=intake))
    assert len(intake.known) == 1

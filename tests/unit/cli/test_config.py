"""Changing the detection settings, as far as no broker is needed."""

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import orjson
import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from streams.cli import main
from streams.cli.settings_change import user
from streams.cli.settings_history import history, line
from streams.core.detectors.settings import DEFAULTS
from streams.core.errors import ConfigurationError
from streams.core.settings_document import LARGEST_VERSION, to_document
from streams.kafka.client import Stored
from streams.kafka.settings_feed import apply_document
from streams.operate.explain.settings_topic import changed_document, in_force

CHANGED = {"at": 1_760_000_000_000, "by": "ann", "why": "fewer pages", "settings": ["entropy_window_size"]}


def stored(*values: bytes | None) -> list[Stored]:
    return [Stored(0, offset, 0, b"settings", value, ()) for offset, value in enumerate(values)]


def document(version: int, **settings: Any) -> bytes:
    return orjson.dumps({"version": version, "changed": CHANGED, **to_document(DEFAULTS), **settings})


def eddy(*words: str) -> Result:
    return CliRunner().invoke(main, ["config", *words])


# -- the next document ---------------------------------------------------------------------------------------


def test_what_the_workers_would_not_take_for_its_size_is_not_published() -> None:
    globs = [f"{number:1000}" for number in range(300)]
    with pytest.raises(ConfigurationError, match=r"would have 3\d{5} bytes and may have 262144"):
        changed_document(DEFAULTS, {"read_tools": globs}, CHANGED)


def test_a_change_makes_the_whole_next_document() -> None:
    first = changed_document(DEFAULTS, {"entropy_window_size": 8}, CHANGED)
    assert first == {"version": 1, "changed": CHANGED, **to_document(DEFAULTS), "entropy_window_size": 8}
    after = in_force(stored(orjson.dumps(first)))
    second = changed_document(after, {"alert_every_record": False}, CHANGED)
    assert (second["version"], second["entropy_window_size"], second["alert_every_record"]) == (2, 8, False)


def test_a_version_can_be_chosen_above_the_one_in_force() -> None:
    document = changed_document(replace(DEFAULTS, version=2), {"entropy_window_size": 8}, CHANGED, 9)
    assert document["version"] == 9
    with pytest.raises(ConfigurationError, match="version 2 is in force, workers would ignore version 2"):
        changed_document(replace(DEFAULTS, version=2), {"entropy_window_size": 8}, CHANGED, 2)


def test_a_version_that_the_workers_would_ignore_is_refused_before_it_is_published() -> None:
    with pytest.raises(ConfigurationError, match=f"workers would ignore version {LARGEST_VERSION}"):
        changed_document(replace(DEFAULTS, version=2), {"cycle_loop": 8}, CHANGED, LARGEST_VERSION)


def test_settings_at_the_end_of_the_versions_can_be_changed() -> None:
    stuck = apply_document(DEFAULTS, b'{"version": %d, "cycle_loop": 9}' % LARGEST_VERSION)
    assert stuck.version == LARGEST_VERSION
    document = changed_document(stuck, {"cycle_loop": 8}, CHANGED)
    after = apply_document(stuck, orjson.dumps(document))
    assert (document["version"], after.version, after.cycle_loop) == (1, 1, 8)


def test_patterns_that_workers_could_not_afford_are_refused_before_they_are_published() -> None:
    globs = [f"[a-z]*{number}?" for number in range(1_000)]
    with pytest.raises(
        ConfigurationError, match=r"read_tools: must be .* at most 2000 characters in patterns"
    ):
        changed_document(DEFAULTS, {"read_tools": globs}, CHANGED)


@pytest.mark.parametrize(
    ("changes", "problems"),
    [
        ({"entropy_window_size": 0}, ["entropy_window_size: must be an integer from 1 to 1000"]),
        (
            {"entropy_window_size": "8", "alert_every_record": 1},
            ["entropy_window_size: ", "alert_every_record: "],
        ),
        (
            {"entropy_windowsize": 8},
            ["entropy_windowsize: is not a setting; did you mean entropy_window_size?"],
        ),
        ({"entropy_loop_threshold": 0.9}, ["entropy_loop_threshold,entropy_warning_threshold: "]),
        ({"entropy_window_size": 8, "cycle_loop": -1}, ["cycle_loop: "]),
    ],
)
def test_a_change_with_anything_wrong_in_it_is_refused_as_a_whole(
    changes: dict[str, Any], problems: list[str]
) -> None:
    with pytest.raises(ConfigurationError, match=r"^Not changed: .* `eddy config list` shows") as refusal:
        changed_document(DEFAULTS, changes, CHANGED)
    assert all(problem in str(refusal.value) for problem in problems)


def test_what_is_in_force_ignores_what_workers_ignore() -> None:
    settings = in_force(
        stored(
            document(2, entropy_window_size=7),
            b"nonsense",
            None,
            document(2, entropy_window_size=9),
            document(1, entropy_window_size=9),
            orjson.dumps({"version": "3", "entropy_window_size": 9}),
        )
    )
    assert (settings.version, settings.entropy_window_size) == (2, 7)


# -- usage ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["set"], "Nothing to change"),
        (["set", "entropy_window_size"], "'entropy_window_size' is no NAME=VALUE"),
        (["set", "--unset", "nonsense"], "There is no setting nonsense"),
        (["set", "cycle_loop=4", "cycle_loop=5"], "cycle_loop is named twice"),
        (["set", "cycle_loop=4", "--unset", "cycle_loop"], "cycle_loop is named twice"),
        (["get"], "Missing argument 'NAME'"),
    ],
)
def test_wrong_usage_is_said_before_a_broker_is_asked(words: Sequence[str], message: str) -> None:
    result = eddy(*words)
    assert result.exit_code == 2
    assert message in result.stderr


@pytest.mark.parametrize(
    "words", [["set", "entropy_window_size=8"], ["get", "cycle_loop"], ["list"], ["history"]]
)
def test_no_broker_is_exit_code_3_and_says_where_to_look(words: list[str]) -> None:
    result = eddy(*words, "--bootstrap-servers", "127.0.0.1:1")
    assert result.exit_code == 3
    assert result.stderr.startswith("eddy: No broker answers at 127.0.0.1:1 ")
    assert "EDDY_BOOTSTRAP_SERVERS" in result.stderr
    assert result.stdout == ""


def test_who_changes_settings_has_a_name_even_without_one(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(os, "getuid", lambda: 2_000_000_123)
    assert user() == "user 2000000123"
    monkeypatch.setenv("LOGNAME", "ann")
    assert user() == "ann"


# -- history -------------------------------------------------------------------------------------------------


def test_history_tells_what_became_of_every_record() -> None:
    entries = list(
        history(
            stored(
                document(1, entropy_window_size=8),
                b"[]",
                document(1, entropy_window_size=9),
                None,
                document(4, entropy_window_size=0),
            )
        )
    )
    assert entries == [
        {"offset": 0, "version": 1, **CHANGED},
        {"offset": 1, "problem": "not a JSON object"},
        {"offset": 2, "version": 1, **CHANGED, "problem": "it does not follow version 1, which was in force"},
        {"offset": 3, "problem": "a tombstone is no document"},
        {
            "offset": 4,
            "version": 4,
            **CHANGED,
            "refused": ["entropy_window_size: must be an integer from 1 to 1000"],
        },
    ]
    assert [line(entry) for entry in entries] == [
        "version 1  2025-10-09 08:53:20Z  ann  entropy_window_size  fewer pages",
        "ignored at offset 1: not a JSON object",
        (
            "ignored at offset 2: it does not follow version 1, which was in force"
            "  version 1  2025-10-09 08:53:20Z  ann  entropy_window_size  fewer pages"
        ),
        "ignored at offset 3: a tombstone is no document",
        (
            "version 4  2025-10-09 08:53:20Z  ann  entropy_window_size  fewer pages"
            "  refused: entropy_window_size: must be an integer from 1 to 1000"
        ),
    ]


def test_history_says_no_more_than_it_knows() -> None:
    [entry] = history(stored(b'{"version": 3, "changed": "yesterday"}'))
    assert line(entry) == "version 3  at an unknown time  unknown"


def test_a_document_cannot_pretend_to_be_another() -> None:
    pretending = {"version": 99, "offset": 99, "problem": "", "refused": ["all"], "by": "eve"}
    [entry] = history(stored(orjson.dumps({"version": 1, "changed": pretending})))
    assert entry == {"offset": 0, "version": 1, "by": "eve"}


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
told = st.fixed_dictionaries(
    {}, optional=dict.fromkeys(("at", "by", "why", "settings", "version", "offset"), json_values)
)


@given(
    st.lists(
        st.fixed_dictionaries(
            {"version": json_values}, optional={"changed": told | json_values, "x": json_values}
        )
    )
)
def test_whatever_somebody_wrote_is_one_printable_line_each(documents: list[dict[str, Any]]) -> None:
    entries = list(history(stored(*map(orjson.dumps, documents))))
    assert len(entries) == len(documents)
    assert all(line(entry).isprintable() for entry in entries)


@pytest.mark.parametrize("field", ["by", "why", "settings"])
def test_nothing_that_somebody_wrote_moves_the_cursor(field: str) -> None:
    evil = "\x1b]0;owned\x07\x1b[2J\r\u202etxt\n\u200b" + "long " * 1000
    [entry] = history(
        stored(orjson.dumps({"version": 1, "changed": {field: [evil] if field == "settings" else evil}}))
    )
    text = line(entry)
    assert text.isprintable()
    assert "\\x1b[2J" in text
    assert len(text) < 300

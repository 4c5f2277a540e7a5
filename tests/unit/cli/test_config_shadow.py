"""Trying settings out from the command line, as far as no broker is needed."""

from collections.abc import Sequence
from typing import Any

import orjson
import pytest
from click.testing import CliRunner, Result

from streams.cli import main
from streams.cli.settings_history import line, shadow_history
from streams.core.detectors.settings import DEFAULTS
from streams.core.settings_document import resolve, to_document
from streams.kafka.client import Stored
from streams.operate.explain.settings_topic import differing, next_document, tried_out

CHANGED = {"at": 1_760_000_000_000, "by": "ann", "why": "fewer pages", "settings": ["cycle_loop"]}


def stored(*values: bytes | None) -> list[Stored]:
    return [Stored(0, offset, 0, b"settings", value, ()) for offset, value in enumerate(values)]


def document(version: int, **settings: Any) -> bytes:
    return orjson.dumps({"version": version, "changed": CHANGED, **to_document(DEFAULTS), **settings})


def eddy(*words: str) -> Result:
    return CliRunner().invoke(main, ["config", "shadow", *words])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["set"], "Nothing to change"),
        (["set", "cycle_loop"], "'cycle_loop' is no NAME=VALUE"),
        (["set", "--unset", "nonsense"], "There is no setting nonsense"),
    ],
)
def test_wrong_usage_is_said_before_a_broker_is_asked(words: Sequence[str], message: str) -> None:
    result = eddy(*words)
    assert result.exit_code == 2
    assert message in result.stderr


@pytest.mark.parametrize("words", [["set", "cycle_loop=4"], ["get"], ["clear"], ["history"]])
def test_no_broker_is_exit_code_3(words: list[str]) -> None:
    result = eddy(*words, "--bootstrap-servers", "127.0.0.1:1")
    assert (result.exit_code, result.stdout) == (3, "")
    assert "EDDY_BOOTSTRAP_SERVERS" in result.stderr


def test_what_is_tried_out_differs_from_the_live_settings_by_name() -> None:
    live = resolve({"cycle_loop": 4, "read_tools": ["cat"]}, DEFAULTS, 2)[0]
    tried = resolve({"cycle_loop": 5, "read_tools": ["cat"]}, DEFAULTS, 1)[0]
    assert differing(live, tried) == {"cycle_loop": (4, 5)}
    assert differing(live, live) == {}


def test_the_first_trial_begins_from_the_live_settings_and_the_next_from_the_trial() -> None:
    live = resolve({"cycle_loop": 4}, DEFAULTS, 2)[0]
    first = next_document(live, 1, {"entropy_window_size": 8}, CHANGED)
    assert (first["version"], first["cycle_loop"], first["entropy_window_size"]) == (1, 4, 8)
    tried = tried_out(stored(orjson.dumps(first)))
    assert tried.settings is not None
    second = next_document(tried.settings, tried.version + 1, {"cycle_loop": 6}, CHANGED)
    assert (second["version"], second["cycle_loop"], second["entropy_window_size"]) == (2, 6, 8)


def test_history_tells_trials_their_ends_and_what_is_ignored() -> None:
    entries = list(
        shadow_history(
            stored(
                document(1, cycle_loop=4),
                b"[]",
                document(1, cycle_loop=5),
                orjson.dumps({"version": 2, "changed": {"by": "bob"}}),
                document(3, cycle_loop=0),
                None,
                document(1),
            )
        )
    )
    assert entries == [
        {"offset": 0, "version": 1, **CHANGED},
        {"offset": 1, "problem": "not a JSON object"},
        {
            "offset": 2,
            "version": 1,
            **CHANGED,
            "problem": "it does not follow version 1, which there was already",
        },
        {"offset": 3, "version": 2, "by": "bob", "ended": True},
        {"offset": 4, "version": 3, **CHANGED, "refused": ["cycle_loop: must be an integer from 2 to 1000"]},
        {"offset": 5, "ended": True},
        {"offset": 6, "version": 1, **CHANGED},
    ]
    lines = [line(entry) for entry in entries]
    assert lines[3] == "version 2  at an unknown time  bob  nothing is tried out"
    assert lines[5] == "offset 5: nothing is tried out"


def test_history_and_workers_agree_on_what_is_tried_out() -> None:
    records = stored(document(2), b"x", document(1), orjson.dumps({"version": 3}), document(3), document(4))
    for end in range(len(records) + 1):
        ended = True
        for entry in shadow_history(records[:end]):
            if "problem" not in entry:
                ended = entry.get("ended", False)
        assert (tried_out(records[:end]).settings is None) == ended

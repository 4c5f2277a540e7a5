"""Which letters a filter takes."""

from __future__ import annotations

import pytest

from schemas.codec import Codec
from streams.core.detectors.settings import DEFAULTS
from streams.operate.redrive.letter import DeadLetter, read
from streams.operate.redrive.redrive import Trial
from streams.operate.redrive.selection import Selection
from streams.worker.dead_letter import LetterSource, rejected_headers
from tests.unit.operate.redrive.test_letter import Stored

TRIAL = Trial(Codec.bundled(), DEFAULTS)


def letter(problems=("action.status", "meta"), **stored) -> DeadLetter:
    headers = rejected_headers(LetterSource("decision-logs", 0, 5), problems, "?", group="g", version="1")
    return read(Stored(headers=headers, **stored))


@pytest.mark.parametrize(
    ("selection", "is_one"),
    [
        (Selection(), True),
        (Selection(reasons=frozenset({"key", "schema_violation"})), True),
        (Selection(reasons=frozenset({"key"})), False),
        (Selection(problems=frozenset({"meta"})), True),
        (Selection(problems=frozenset({"meta.timestamp"})), False),
        (Selection(places=frozenset({(1, 9)})), True),
        (Selection(places=frozenset({(1, 8), (0, 9)})), False),
        (Selection(session="s-1"), True),
        (Selection(session="s-2"), False),
        (Selection(reasons=frozenset({"schema_violation"}), session="s-2"), False),
    ],
)
def test_every_condition_has_to_hold(selection, is_one):
    assert selection.has(letter(), TRIAL.decode) is is_one


def test_a_session_is_found_by_the_value_where_the_key_is_another():
    wrong_key = letter(["key"], key=None, value=b'{"session_id": "s-2"}')
    assert Selection(session="s-2").has(wrong_key, TRIAL.decode)
    assert not Selection(session="s-1").has(wrong_key, TRIAL.decode)
    unreadable = letter(["key"], key=b"s-2", value=b"\xff")
    assert Selection(session="s-2").has(unreadable, TRIAL.decode)

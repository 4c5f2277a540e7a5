"""State of format 1 with every detector: the verdict goes on from it, and the stuck score begins."""

from typing import Any

from streams.core.detectors.settings import DEFAULTS
from streams.core.detectors.verdict.state import VerdictState
from streams.core.domain.session import STATE_VERSION
from streams.worker.state.changelog import decode_session, encode_session
from tests.earlier_state import CUT, EVERY_DETECTOR, RECORDED, Sessions, fold, restored


def after_the_upgrade() -> dict[str, list[dict[str, Any]]]:
    """The enriched records of the sessions that were under way."""
    going_on = {session_id for session_id, session in restored(EVERY_DETECTOR).items() if not session.ended}
    found: dict[str, list[dict[str, Any]]] = {}
    for enriched in fold(restored(EVERY_DETECTOR), RECORDED[CUT:], DEFAULTS).values():
        if enriched["session_id"] in going_on:
            found.setdefault(enriched["session_id"], []).append(enriched)
    return found


def test_no_record_returns_to_one_from_before_the_upgrade() -> None:
    first = [records[0]["eddy"]["verdict"]["stuck"] for records in after_the_upgrade().values()]
    assert len(first) > 5
    assert {stuck["kind"] for stuck in first if stuck} <= {"first", "waiting"}
    assert {stuck["refers_to"] for stuck in first if stuck} == {None}


def test_what_comes_of_it_is_stored_in_the_newer_format_and_read_back() -> None:
    sessions = restored(EVERY_DETECTOR)
    touched = {each["session_id"] for each in fold(sessions, RECORDED[CUT:], DEFAULTS).values()}
    for session_id, session in sessions.items():
        stored = encode_session(session)
        assert stored.startswith(b"[%d," % STATE_VERSION)
        assert encode_session(decode_session(stored)) == stored
        if session_id in touched and not session.ended:
            assert len(session.states["verdict"]) == len(VerdictState._fields)


def test_a_state_that_no_record_touched_is_read_the_same_after_it_was_stored_again() -> None:
    sessions = restored(EVERY_DETECTOR)
    again = Sessions({name: decode_session(encode_session(each)) for name, each in sessions.items()})
    assert fold(again, RECORDED[CUT:], DEFAULTS) == fold(sessions, RECORDED[CUT:], DEFAULTS)

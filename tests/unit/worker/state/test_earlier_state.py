"""The state an earlier version left in a changelog: this version goes on from it."""

from typing import Any

import pytest

from streams.core.detectors.registry import DETECTORS
from streams.core.detectors.settings import DEFAULTS
from streams.core.domain.event_kind import EventKind
from streams.core.pipeline import RECENT
from streams.core.policy.activity import ACTIVITY
from streams.core.policy.silence import PACE
from streams.worker.settings_ledger import SettingsLedger
from streams.worker.state.changelog import SETTINGS_KEY, decode_session, encode_session, session_key
from tests.earlier_state import CUT, EVERY_DETECTOR, LEDGER, RECORDED, Sessions, changelog, fold, restored

# What that version computed.
SCORES = ("uniqueness", "repeat", "patterns")
EVENTS = {
    EventKind.ENTROPY_ALERT,
    EventKind.DIVERGENCE_SUSPECTED,
    EventKind.DRIFT_PATTERN,
    EventKind.NODE_STATE,
}


def scores(enriched: dict[str, Any]) -> dict[str, Any]:
    """What that version had computed of a record."""
    eddy = enriched["eddy"]
    kept = ("id", "settings_version", "scoring_status", "step", *SCORES)
    quoted = {"verdict_level", "episode_id"}
    return {
        **{name: eddy[name] for name in kept},
        "cognition": enriched.get("cognition"),
        "events": [
            {name: value for name, value in event.items() if name not in quoted}
            for event in eddy["events"]
            if event["event_type"] in EVENTS
        ],
    }


def test_the_ledger_decodes_and_its_settings_hold() -> None:
    [entry] = LEDGER.entries
    assert (entry.first_offset, entry.settings.version) == (0, 1)
    assert (entry.settings.entropy_window_size, entry.settings.repeat_dedup) == (6, "rearm")
    assert LEDGER.reserved >= CUT
    assert SettingsLedger.decode(LEDGER.encode()) == LEDGER


def test_every_session_decodes_and_is_stored_under_the_newer_format() -> None:
    sessions = [entry for entry in changelog() if entry.key != SETTINGS_KEY]
    assert len(sessions) == 14
    for key, value in sessions:
        session = decode_session(value)
        assert session.offset < CUT
        as_now = value.replace(b"[1,", b"[2,", 1)
        assert (session_key(key.decode()[1:]), encode_session(session)) == (key, as_now)


def test_the_scores_go_on_as_if_nothing_had_happened() -> None:
    uninterrupted = fold(Sessions(), RECORDED)
    after = fold(restored(), RECORDED[CUT:])
    assert len(after) > 100
    assert list(after) == [offset for offset in uninterrupted if offset >= CUT]
    for offset, enriched in after.items():
        assert scores(enriched) == scores(uninterrupted[offset]), offset
    told = {event["event_type"] for enriched in after.values() for event in scores(enriched)["events"]}
    assert told == EVENTS - {EventKind.ENTROPY_ALERT}


# The others compare calls, which are digested in another form since then, and look at the first call afresh.
@pytest.mark.parametrize("name", ["uniqueness", "repeat", "patterns", "budget", "metrics"])
def test_texts_and_words_that_were_kept_are_compared_with_what_is_kept_now(name: str) -> None:
    """State of every detector, each as it was stored before A1 and A3 kept less."""
    uninterrupted = fold(Sessions(), RECORDED, DEFAULTS)
    after = fold(restored(EVERY_DETECTOR), RECORDED[CUT:], DEFAULTS)
    assert len(after) > 100
    for offset, enriched in after.items():
        assert enriched["eddy"][name] == uninterrupted[offset]["eddy"][name], offset


def test_a_state_of_every_detector_is_stored_under_the_newer_format_until_a_record_needs_it() -> None:
    for key, value in changelog(EVERY_DETECTOR):
        assert encode_session(decode_session(value)) == value.replace(b"[1,", b"[2,", 1), key


def test_what_was_applied_is_a_duplicate() -> None:
    before = restored()
    sessions = restored()
    assert fold(sessions, RECORDED[:CUT]) == {}
    assert sessions == before


#: Without those whose block follows from that of an older one.
NEW = [each.name for each in DETECTORS if each.name not in SCORES and not set(each.reads) & set(SCORES)]


@pytest.mark.parametrize("name", NEW)
def test_a_detector_that_is_new_starts_fresh(name: str) -> None:
    """It sees a restored session as one that begins."""
    sessions = restored()
    going_on = {session_id for session_id, session in sessions.items() if not session.ended}
    after = fold(sessions, RECORDED[CUT:])
    fresh = fold(Sessions(), RECORDED[CUT:])
    compared = 0
    for offset, enriched in after.items():
        if enriched["session_id"] in going_on:
            assert without_steps(enriched["eddy"][name]) == without_steps(fresh[offset]["eddy"][name]), offset
            compared += 1
    assert compared > 50


def without_steps(block: Any) -> Any:
    """A block without the numbers of steps, which go on."""
    match block:
        case dict():
            return {key: without_steps(value) for key, value in block.items() if key != "steps"}
        case _:
            return block


def test_the_state_that_comes_of_it_is_stored_and_read_back() -> None:
    sessions = restored()
    fold(sessions, RECORDED[CUT:])
    for session in sessions.values():
        assert encode_session(decode_session(encode_session(session))) == encode_session(session)
        if not session.ended:
            assert set(session.states) <= {ACTIVITY, PACE, RECENT, *(detector.name for detector in DETECTORS)}

"""No producer can make a session larger than what is computed for the settings in force."""

import random
import string
from dataclasses import replace
from typing import Any

import orjson
import pytest

from streams.core.detectors.registry import DETECTORS
from streams.core.detectors.settings import DEFAULTS
from streams.core.detectors.verdict.state import VerdictState
from streams.core.domain.session import Session
from streams.core.policy.state_limits import StateLimit, most_bytes
from streams.worker.state.changelog import encode_session
from tests.stream import Stream, decision_log

#: Written as six bytes in JSON, each.
WORST = "\x01"

WINDOWS = {
    "entropy_window_size": 40,
    "repeat_ring_size": 40,
    "pattern_window": 40,
    "metrics_window": 40,
    "verdict_window": 40,
    "goal_window": 40,
    "velocity_window": 40,
    "trend_window": 40,
}


def words(seed: int, number: int, width: int, room: int) -> str:
    """Return as many words as there is room for, all different from those of other seeds."""
    rng = random.Random(seed)
    letters = string.ascii_lowercase + string.digits
    return " ".join("".join(rng.choices(letters, k=width)) for _ in range(number))[:room]


def hostile(at: int, kind: str) -> dict[str, Any]:
    """Return a record in which every text is as long, as new and as costly to write as it can be."""
    text = f"{WORST * 1100}{at}"
    value = decision_log(
        text,
        text,
        number=at,
        agent=text,
        kind=text if kind == "new" else kind,
        target=text,
        content_hash=f"{WORST * 13}{at:03}",
        tool_input=words(at, 1_400, 2, 4_000),
        error=words(-at, 1_400, 2, 4_000),
    )
    value["event_id"] = text
    value["state_delta"] = {
        "progress_delta": -1 / 3 - at * 1e-9,
        "tokens_consumed": 1e17 / 3,
        "cumulative_session_cost": 1e17 / 3,
        "context_quality": 1 / 3,
    }
    return value


def chatty(at: int) -> dict[str, Any]:
    """Return a record with as many new words as the goal looks at, and none of a goal."""
    return decision_log(words(at, 300, 9, 4_000), None, number=at)


def largest(records: list[dict[str, Any]], **changes: Any) -> tuple[int, int]:
    """Return the size of the largest state that the records lead to, and the bound."""
    stream, most = Stream(**changes), 0
    assert not stream.warnings
    for record in records:
        stream.scored(record)
        most = max(most, len(encode_session(stream.sessions["s1"])))
    return most, most_bytes(stream.settings)


@pytest.mark.parametrize(
    "changes",
    [{}, WINDOWS, *({name: 40} for name in WINDOWS)],
    ids=lambda changes: "-".join(changes) if len(changes) < 3 else f"{len(changes)} settings",
)
@pytest.mark.parametrize("kind", ["new", "tool"])
def test_no_record_makes_a_state_larger_than_its_bound(changes: dict[str, Any], kind: str) -> None:
    most, bound = largest([hostile(at, kind) for at in range(70)], **changes)
    assert most <= bound


def test_words_of_a_goal_that_never_comes_are_within_the_bound() -> None:
    most, bound = largest([chatty(at) for at in range(90)], goal_window=80)
    assert 80 * 1_280 < most <= bound


def polled(at: int) -> dict[str, Any]:
    """Return a record that waits, each time for another tool with a name as long and as costly as can be."""
    return decision_log(None, f"{WORST * 1100}{at}", "success", number=at, at_ms=at * 60_000)


def test_a_window_full_of_patterns_that_fired_is_within_the_bound() -> None:
    everything = {"tool_policies": {"*": {"mode": "polling"}}, "session_ttl_ms": 0}
    stream = Stream(verdict_window=1_000, **everything)
    assert not stream.warnings
    for at in range(1_020):
        stream.scored(polled(at))
    session = stream.sessions["s1"]
    verdict = VerdictState(*session.states["verdict"])
    assert len(verdict.keys) == 1_000
    assert len(encode_session(session)) <= most_bytes(stream.settings)
    [detector] = [each for each in DETECTORS if each.name == "verdict"]
    # The names of the five newest tools are counted with the texts that no window decides.
    without = verdict._replace(tools=(), episode=None)
    assert len(orjson.dumps([*without])) <= detector.most_bytes(stream.settings)


def test_the_bound_is_not_much_more_than_what_a_session_can_become() -> None:
    """Else a limit made of it would set records aside that could be stored."""
    most, bound = largest([hostile(at, "new") for at in range(70)], **WINDOWS)
    # What no window decides is a tenth of it, and cannot all be there at once.
    assert bound < 1.3 * most


def test_by_default_no_state_comes_near_what_a_changelog_takes() -> None:
    limit = StateLimit.of(8 << 20, encode_session, "changelog")
    assert not limit.may_be_exceeded(DEFAULTS)
    assert 2 * most_bytes(DEFAULTS) < limit.most


def test_with_every_window_at_its_largest_a_state_may_be_more_than_a_changelog_takes() -> None:
    everything = replace(DEFAULTS, **dict.fromkeys(WINDOWS, 1_000))
    assert 32_000_000 < most_bytes(everything) < 40_000_000
    assert StateLimit.of(8 << 20, encode_session, "changelog").may_be_exceeded(everything)


def test_a_shadow_is_measured_by_itself() -> None:
    session = Session(0, 7, shadow=Session(0, 7))
    limit = StateLimit(len(encode_session(session._replace(shadow=None))), encode_session, "changelog")
    assert len(encode_session(session._replace(shadow=Session(0, 8)))) > limit.most
    assert not limit.is_exceeded(session._replace(shadow=Session(0, 8)))

"""What a session tells the views across sessions: little, once, and exactly what changed."""

import itertools
import tracemalloc
from collections.abc import Mapping
from typing import Any

import orjson
import pytest

from streams.core.domain.aggregates.contribution import BUCKET_MS, Contribution
from streams.core.policy.activity import ACTIVITY, MOST_SEEN, MOST_TOOLS, Activity, activity_of
from streams.worker.state.changelog import decode_session, encode_session
from tests.stream import START_MS, Stream, decision_log

BUCKET = START_MS // BUCKET_MS
HOUR_MS = 3_600_000
LOOPING: dict[str, Any] = {"tool": "bash", "tool_input": "{}", "error": "exit 1"}


def key(sent: tuple[Contribution, ...]) -> dict[str, Mapping[str, Mapping[int, int]]]:
    """Return the counts by key, buckets from the first one of the test."""
    return {
        each.key: {
            series: {bucket - BUCKET: n for bucket, n in buckets.items()}
            for series, buckets in each.counts.items()
        }
        for each in sent
    }


class Session:
    """A session whose contributions are kept."""

    def __init__(self, **settings: Any) -> None:
        self.stream = Stream(**settings)
        self._numbers = itertools.count()

    def act(self, at_ms: int | None = None, tokens: int = 0, cost: float | None = None, **about: Any) -> Any:
        """Send the next record; return what it contributed."""
        value = decision_log(number=next(self._numbers), at_ms=at_ms, **about)
        value["state_delta"] = {"tokens_consumed": tokens, "cumulative_session_cost": cost}
        return key(self.stream.scored(value).contributions)

    def other(self, **about: Any) -> Any:
        """Send a record unlike any before."""
        number = next(self._numbers)
        about = {"intent": f"thought {number}", "tool": None, "status": "success", **about}
        return key(self.stream.scored(decision_log(number=number, **about)).contributions)

    @property
    def activity(self) -> Activity:
        return activity_of(self.stream.sessions["s1"].states)


def total(sent: list[Any], subject: str, series: str) -> int:
    return sum(sum(each.get(subject, {}).get(series, {}).values()) for each in sent)


def test_a_session_is_seen_once_in_each_bucket_by_its_agent_and_each_tool() -> None:
    session = Session()
    seen = {"sessions": {0: 1}}
    assert session.act(tool="bash", status="success") == {"agent-1": seen, "tool/bash": seen}
    assert session.act(tool="bash", status="success") == {}
    assert session.act(tool="grep", status="success") == {"tool/grep": seen}
    assert session.act(tool=None, status="success") == {}
    moved = {"sessions": {0: -1, 1: 1}}
    assert session.act(at_ms=BUCKET_MS, tool="grep", status="success") == {
        "agent-1": moved,
        "tool/grep": moved,
    }
    assert session.act(at_ms=2 * BUCKET_MS, tool="bash", status="success") == {
        "agent-1": {"sessions": {1: -1, 2: 1}},
        "tool/bash": {"sessions": {0: -1, 2: 1}},
    }


def test_a_late_record_moves_nobody_back() -> None:
    session = Session()
    session.act(at_ms=2 * BUCKET_MS, tool="bash")
    assert session.act(at_ms=0, tool="bash") == {}


def test_a_blank_agent_is_nobody() -> None:
    assert Session().act(agent="  ", tool="bash") == {"tool/bash": {"sessions": {0: 1}}}


def test_long_names_are_cut_and_stay_apart() -> None:
    session = Session()
    keys = {*session.act(agent="x" * 9999, tool=None), *session.act(agent="x" * 9998, tool=None)}
    assert len(keys) == 2
    assert max(map(len, keys)) < 250


def test_a_long_name_is_the_same_tool_seen_and_looping() -> None:
    session = Session()
    sent = [session.act(tool="x" * 2000, tool_input="{}", error="exit 1") for _ in range(4)]
    tools = {each for contributed in sent for each in contributed if each.startswith("tool/")}
    assert len(tools) == 1
    assert total(sent, tools.pop(), "looping") == 1


def test_long_names_do_not_stay_in_memory() -> None:
    session = Session()
    session.other()
    tracemalloc.start()
    try:
        for number in range(20):
            session.act(tool=f"{number}" * 100_000, agent=f"{number}" * 100_000, intent="x")
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < 1_000_000


def test_a_session_counts_for_so_many_tools_in_a_day_and_never_twice_for_one() -> None:
    session = Session()
    tools = [f"tool-{number}" for number in range(MOST_TOOLS + 5)]
    sent = [session.act(at_ms=bucket * BUCKET_MS, tool=tool) for bucket in range(3) for tool in tools]
    counted = [total(sent, f"tool/{tool}", "sessions") for tool in tools]
    # Its agent is one of those it remembers.
    assert counted == [1] * (MOST_TOOLS - 1) + [0] * 6
    assert total(sent, "agent-1", "sessions") == 1
    assert len(session.activity.seen) == MOST_TOOLS


def test_tools_leave_room_for_agents() -> None:
    session = Session()
    for number in range(MOST_TOOLS + 5):
        session.act(tool=f"tool-{number}")
    assert session.act(agent="another", tool=None) == {"another": {"sessions": {0: 1}}}
    for number in range(MOST_SEEN):
        session.act(agent=f"agent-{number}", tool=None)
    assert len(session.activity.seen) == MOST_SEEN


def test_what_was_not_used_for_a_day_makes_room() -> None:
    session = Session(session_ttl_ms=0)
    for number in range(MOST_TOOLS):
        session.act(tool=f"tool-{number}")
    later = 25 * 12
    assert "tool/late" not in session.act(at_ms=(later - 1) * BUCKET_MS, tool="late")
    assert session.act(at_ms=later * BUCKET_MS, tool="late")["tool/late"] == {"sessions": {later: 1}}
    assert session.activity.seen.keys() == {"agent-1", "tool/late"}


def test_an_episode_counts_when_it_reaches_loop_with_what_was_wasted_since_its_onset() -> None:
    session = Session()
    sent = [session.act(tokens=100, cost=0.5 + 0.25 * n, **LOOPING) for n in range(4)]
    assert sent[2] == {}  # a warning
    wasted = {"looping": {0: 1}, "episodes": {0: 1}, "tokens": {0: 300}, "cost": {0: 7_500}}
    assert sent[3] == {"agent-1": wasted, "tool/bash": wasted}
    assert session.act(tokens=70, cost=2.0, **LOOPING) == {}
    sent = [session.other() for _ in range(3)]
    left = {"looping": {0: -1}, "tokens": {0: 70}, "cost": {0: 0}}
    assert sent[-1]["tool/bash"] == {name: n for name, n in left.items() if name != "cost"}
    assert session.activity.looping == ()


def test_the_heartbeats_of_an_episode_bring_its_waste_up_to_date() -> None:
    session = Session(alert_heartbeat_records=2)
    sent = [session.act(tokens=10, **LOOPING) for _ in range(10)]
    assert [total([each], "agent-1", "tokens") for each in sent] == [0, 0, 0, 30, 0, 20, 0, 20, 0, 20]


def test_a_session_that_loops_on_takes_its_signature_along() -> None:
    session = Session()
    [*_, entered] = [
        session.stream.scored(decision_log(number=n, at_ms=n * 1000, **LOOPING)) for n in range(4)
    ]
    [agent, tool] = entered.contributions
    [(signature, n)] = agent.chains[BUCKET].items()
    assert (n, tool.chains) == (1, {})
    [agent, _] = session.stream.scored(decision_log(at_ms=BUCKET_MS, **LOOPING)).contributions
    assert agent.counts["looping"] == {BUCKET: -1, BUCKET + 1: 1}
    assert agent.chains == {BUCKET: {signature: -1}, BUCKET + 1: {signature: 1}}


def test_an_episode_that_opens_again_is_one_and_wastes_nothing_twice() -> None:
    session = Session(recover_records=1, verdict_rules=["R1"])
    sent: list[Any] = []
    for _ in range(3):
        sent += [session.act(tokens=10, **LOOPING) for _ in range(4)]
        sent.append(session.other())
    assert total(sent, "agent-1", "episodes") == 1
    assert total(sent, "agent-1", "looping") == 0
    # Each time from its first record to its end, and the record in between wastes nothing by itself.
    assert total(sent, "agent-1", "tokens") == 90


def test_a_warning_is_no_waste() -> None:
    session = Session()
    sent = [session.act(tokens=10, **LOOPING) for _ in range(3)] + [session.other() for _ in range(3)]
    assert total(sent, "agent-1", "tokens") == total(sent, "agent-1", "looping") == 0


@pytest.mark.parametrize("end", ["terminal", "expired"])
def test_a_session_that_ends_loops_no_more_and_was_seen_all_the_same(end: str) -> None:
    session = Session(session_ttl_ms=HOUR_MS)
    sent = [session.act(tokens=10, **LOOPING) for _ in range(5)]
    if end == "terminal":
        sent.append(session.act(tokens=10, terminal=True, **LOOPING))
    else:
        sent.append(session.act(at_ms=2 * HOUR_MS, tokens=99, **LOOPING))
        # The new session counts as one more, and what the old one wasted counts where it happened.
        assert sent[-1]["agent-1"] == {"looping": {0: -1}, "tokens": {0: 10}, "sessions": {24: 1}}
    assert total(sent, "agent-1", "looping") == 0
    assert total(sent, "agent-1", "tokens") == (50 if end == "terminal" else 40)
    assert total(sent, "agent-1", "sessions") == (1 if end == "terminal" else 2)


def test_a_duplicate_contributes_nothing() -> None:
    session = Session()
    session.act()
    record = session.stream.record(decision_log(), offset=0)
    assert not hasattr(session.stream.apply(record), "contributions")


def test_an_episode_goes_on_in_the_session_that_was_stored() -> None:
    stored, kept = Session(alert_heartbeat_records=2), Session(alert_heartbeat_records=2)
    for number in range(12):
        about = {"at_ms": number * BUCKET_MS // 3, "tokens": 10, "cost": number * 0.1, **LOOPING}
        assert stored.act(**about) == kept.act(**about)
        before = stored.stream.sessions["s1"]
        stored.stream.sessions["s1"] = decode_session(encode_session(before))
        assert orjson.dumps([*stored.activity]) == orjson.dumps([*kept.activity])
    assert len(orjson.dumps([*kept.activity])) < 250


def test_a_session_of_the_version_before_contributes_from_its_next_record_on() -> None:
    session = Session()
    for _ in range(4):
        session.act(tokens=10, **LOOPING)
    before = session.stream.sessions["s1"]
    states = {name: state for name, state in before.states.items() if name != ACTIVITY}
    session.stream.sessions["s1"] = before._replace(states=states)
    assert session.act(tokens=10, **LOOPING) == {
        "agent-1": {"sessions": {0: 1}},
        "tool/bash": {"sessions": {0: 1}},
    }
    assert [session.other() for _ in range(3)] == [{}, {}, {}]

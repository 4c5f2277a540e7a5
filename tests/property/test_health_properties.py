"""The views across sessions: the same whatever the order of the partitions, and what all of history says."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from hypothesis import event, given, settings
from hypothesis import strategies as st

from streams.core.domain.aggregates.agent_health import AgentHealth
from streams.core.domain.aggregates.contribution import BUCKET_MS, Contribution, agent_key, tool_key
from streams.core.domain.outcome import Scored
from tests.stream import Stream, decision_log

PARTITIONS = 2
MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
#: Episodes come and go quickly, sessions expire, and one tool is polled.
SETTINGS: dict[str, Any] = {"recover_records": 1, "session_ttl_ms": 3 * HOUR_MS, "alert_heartbeat_records": 2}


@dataclass(frozen=True)
class Act:
    """One record: of which session, how long after the one before, what happened."""

    session: int
    minutes: int
    what: str
    agent: int
    tokens: int
    ends: bool


BURSTS = st.builds(
    Act,
    session=st.integers(0, 3),
    minutes=st.sampled_from([0, 0, 0, 0, 1, 4, 7, 30, 200, -3]),
    what=st.sampled_from(["stuck", "stuck", "stuck", "blocked", "other", "plain"]),
    agent=st.sampled_from([0, 0, 0, 1]),
    tokens=st.integers(0, 9),
    ends=st.sampled_from([False] * 19 + [True]),
)
HISTORIES = st.lists(st.tuples(BURSTS, st.integers(1, 6)), min_size=1, max_size=25).map(
    lambda bursts: [act for act, times in bursts for _ in range(times)]
)


def record(act: Act, number: int, at_ms: int) -> dict[str, Any]:
    """Return the record of an act."""
    about: dict[str, Any] = {
        "stuck": {"tool": "bash", "tool_input": "{}", "error": "exit 1"},
        "blocked": {"tool": "search", "tool_input": "{}", "error": "nothing found here today"},
        "other": {"tool": "bash", "tool_input": f'{{"n": {number}}}', "status": "success"},
        "plain": {"tool": None, "intent": f"thought {number}", "status": "success"},
    }[act.what]
    value = decision_log(
        session=f"s{act.session}",
        number=number,
        at_ms=at_ms,
        agent=("planner", "tool/bash")[act.agent],
        terminal=act.ends,
        **about,
    )
    value["state_delta"] = {"tokens_consumed": act.tokens, "cumulative_session_cost": number * 0.0103}
    return value


def processed(history: Sequence[Act]) -> Iterator[tuple[dict[str, Any], Scored]]:
    """Yield each record of a history and what became of it."""
    stream = Stream(**SETTINGS)
    at_ms = 0
    for number, act in enumerate(history):
        at_ms = max(0, at_ms + act.minutes * MINUTE_MS)
        value = record(act, number, at_ms)
        yield value, stream.scored(value, partition=act.session % PARTITIONS)


def contributions(history: Sequence[Act]) -> list[Contribution]:
    """Return what a history contributes, each partition in its order."""
    return [each for _, outcome in processed(history) for each in outcome.contributions]


def tallied(sent: Sequence[Contribution]) -> dict[str, AgentHealth]:
    """Return the aggregates of contributions in the order in which they come."""
    found: dict[str, AgentHealth] = defaultdict(AgentHealth)
    for contribution in sent:
        found[contribution.key] = found[contribution.key].plus(contribution)
    return found


@st.composite
def interleavings(draw: st.DrawFn, sent: Sequence[Contribution]) -> list[Contribution]:
    """Merge the partitions anew; now and then one goes back and sends again what it had sent."""
    queues = [[each for each in sent if each.partition == number] for number in range(PARTITIONS)]
    positions = [0] * PARTITIONS
    merged: list[Contribution] = []
    while any(position < len(queue) for position, queue in zip(positions, queues, strict=True)):
        number = draw(st.integers(0, PARTITIONS - 1))
        position = positions[number]
        taken = draw(st.integers(1, 9))
        merged += queues[number][position : position + taken]
        back = draw(st.sampled_from([0, 0, 1, 3, 1000]))
        positions[number] = min(position + taken, len(queues[number]))
        merged += queues[number][max(0, positions[number] - back) : positions[number]]
    return merged


@given(st.data())
@settings(max_examples=30, deadline=None)
def test_the_order_of_the_partitions_and_repeats_change_nothing(data: st.DataObject) -> None:
    sent = contributions(data.draw(HISTORIES))
    merged = data.draw(interleavings(sent))
    event("something came twice" if len(merged) > len(sent) else "nothing came twice")
    once, again = tallied(sent), tallied(merged)
    assert {key: health.snapshot() for key, health in once.items()} == {
        key: health.snapshot() for key, health in again.items()
    }
    for key, health in once.items():
        assert AgentHealth.restore(health.snapshot()) == health
        assert health.report(key) == again[key].report(key)


@dataclass
class Life:
    """A session from its first record to its end, with all that happened."""

    latest: int = 0
    cumulative: dict[int, int] = field(default_factory=dict)
    seen: dict[str, int] = field(default_factory=dict)
    looping: tuple[str, ...] = ()
    signatures: tuple[str, ...] = ()
    counted: set[str] = field(default_factory=set)
    wasted: set[int] = field(default_factory=set)


class History:
    """The views across sessions by going through everything that ever happened."""

    def __init__(self, history: Sequence[Act]) -> None:
        self.lives: list[Life] = []
        self.latest: dict[str, int] = defaultdict(int)
        self.episodes: dict[str, list[int]] = defaultdict(list)
        self.tokens: dict[str, list[tuple[int, int]]] = defaultdict(list)
        open_: dict[str, Life] = {}
        for value, outcome in processed(history):
            self._live(value, outcome, open_)

    def _live(self, value: dict[str, Any], outcome: Scored, open_: dict[str, Life]) -> None:
        session_id, timestamp = value["session_id"], value["meta"]["timestamp"]
        told = [each.fields for each in outcome.events if each.fields["event_type"] == "loop_episode"]
        life = open_.get(session_id)
        if life is not None and timestamp - life.latest > SETTINGS["session_ttl_ms"]:
            self._heard(life.looping, timestamp)
            for fields in [each for each in told if each["reason"] == "expired"]:
                self._episode(life, fields, "")
            del open_[session_id]
        if session_id not in open_:
            open_[session_id] = Life()
            self.lives.append(open_[session_id])
        life = open_[session_id]
        life.latest = max(life.latest, timestamp)
        used = max(life.cumulative.values(), default=0) + value["state_delta"]["tokens_consumed"]
        life.cumulative[outcome.decision.offset] = used
        agent = agent_key(value["identity"]["agent_id"])
        tool = value["action"].get("tool_call")
        keys = (agent, tool_key(tool)) if tool else (agent,)
        life.seen |= dict.fromkeys(keys, life.latest // BUCKET_MS)
        self._heard((*keys, *life.looping), life.latest)
        for fields in told:
            if fields["reason"] != "expired":
                self._episode(life, fields, agent)
        if value.get("control"):
            del open_[session_id]

    def _heard(self, keys: Iterable[str], at: int) -> None:
        for key in keys:
            self.latest[key] = max(self.latest[key], at)

    def _episode(self, life: Life, told: dict[str, Any], agent: str) -> None:
        bucket = life.latest // BUCKET_MS
        if told["level"] == "LOOP":
            if not life.looping:
                life.looping = (agent, *{tool_key(tool) for tool in told["tools"] if tool})
                life.signatures = tuple(told["signatures"])
                if told["episode_id"] not in life.counted:
                    life.counted.add(told["episode_id"])
                    for key in life.looping:
                        self.episodes[key].append(bucket)
            first, last = life.cumulative[told["first_offset"]], life.cumulative[told["last_offset"]]
            assert last - first == told["tokens_since_onset"]
            new = set(range(first, last)) - life.wasted
            life.wasted |= new
            for key in life.looping:
                self.tokens[key].append((bucket, len(new)))
        if told["phase"] == "recovered":
            life.looping = life.signatures = ()

    def report(self, key: str) -> dict[str, Any]:
        newest = self.latest[key] // BUCKET_MS
        hours = newest // 12

        def in_hour(bucket: int) -> bool:
            return bucket > newest - 12

        def in_day(bucket: int) -> bool:
            return bucket // 12 > hours - 24

        looping = [life for life in self.lives if key in life.looping and in_hour(life.latest // BUCKET_MS)]
        signatures = [signature for life in looping for signature in set(life.signatures)]
        chains = {each: signatures.count(each) for each in signatures if key == looping[0].looping[0]}
        seen = [life.seen[key] for life in self.lives if key in life.seen]
        return {
            "sessions_hour": sum(map(in_hour, seen)),
            "sessions_day": sum(map(in_day, seen)),
            "looping_now": len(looping),
            "episodes_hour": sum(map(in_hour, self.episodes[key])),
            "episodes_day": sum(map(in_day, self.episodes[key])),
            "wasted_tokens_hour": sum(n for bucket, n in self.tokens[key] if in_hour(bucket)),
            "wasted_tokens_day": sum(n for bucket, n in self.tokens[key] if in_day(bucket)),
            "cross_chains": {each: n for each, n in chains.items() if n > 1},
        }


@given(HISTORIES)
@settings(max_examples=50, deadline=None)
def test_the_counts_are_what_the_whole_history_says(history: list[Act]) -> None:
    known = History(history)
    found = tallied(contributions(history))
    assert found.keys() == known.latest.keys()
    for key, health in found.items():
        wanted = known.report(key)
        told = health.report(key)
        told["cross_chains"] = {each["signature"]: each["sessions"] for each in told["cross_chains"]}
        assert {name: told[name] for name in wanted} == wanted
        assert health.latest <= known.latest[key] < health.latest + BUCKET_MS
        for name in ("looping_now", "wasted_tokens_day", "cross_chains"):
            if wanted[name]:
                event(name)

"""What a session contributes to the views across sessions: that it was seen, that it loops, what it wastes.

The session remembers in which bucket of time each aggregate last heard of it. When it enters a newer one it
takes itself out of the old and puts itself into the new, so that the sessions of the last hour are a sum over
buckets, each session counted once, and no list of sessions is kept. A session that loops moves along
likewise. Most records change nothing and send nothing.

Looping, and waste, is an episode of level LOOP (specification 6.8): from the record at which it reaches
LOOP until it recovers, for the agent and the tools it had then. Wasted are the tokens and the cost since the
onset of such episodes, told when there is an event of the episode. What two episodes of a session have in
common, because one is opened again or their patterns overlap, is wasted once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from streams.core.domain.aggregates.agent_health import DAY, HOUR
from streams.core.domain.aggregates.contribution import BUCKET_MS, Changes, agent_key, is_tool, tool_key
from streams.core.domain.decision import Decision
from streams.core.domain.event_kind import EventKind
from streams.core.domain.level import Level
from streams.core.domain.outcome import Finding
from streams.core.domain.text.digest import bounded

#: Name of the state among those of a session.
ACTIVITY = "activity"

#: Agents and tools a session remembers to have been seen with in a day, and how many of them may be tools. It
#: counts for no others: to forget one early would be to count the session twice when it comes back.
MOST_SEEN, MOST_TOOLS = 16, 12

#: Tools and signatures of an episode that are counted.
MOST_EVIDENCE = 5

#: Episodes a session remembers to have counted, for one of them may be opened again.
MOST_COUNTED = 4

#: Characters of an agent or tool as a key; more are its beginning and a digest.
LONGEST_NAME = 200

#: No record wastes more tokens, or ten-thousandths of the currency: sums stay within 64 bits.
MOST_WASTE = 10**12

_COST_UNITS = 10_000
_LOOP, _EPISODE = Level.LOOP.value, EventKind.LOOP_EPISODE


class Activity(NamedTuple):
    """What a session remembers of what it contributed.

    Attributes:
        seen: aggregate to how many buckets before ``bucket`` it last heard of the session.
        bucket: of the greatest event time; it loops in this one.
        looping: of the open episode of level LOOP the keys it counts for, the agent's first ("" for a blank
            agent), and the signatures that repeat; empty while none is open.
        waste: how far waste is counted, on the session's own clocks of tokens and of cost in
            ten-thousandths: where the newest episode began (the cost is None while that is not known), and
            up to where waste has been contributed. Empty before the first episode.
        counted: ids of the newest episodes counted.
    """

    seen: Mapping[str, int] = {}
    bucket: int = -1
    looping: Sequence[Sequence[str]] = ()
    waste: Sequence[Any] = ()
    counted: Sequence[str] = ()


def activity_of(states: Mapping[str, Sequence[Any]]) -> Activity:
    """Return the activity among the states of a session, fresh when there is none."""
    stored = states.get(ACTIVITY)
    if stored is None:
        return _FRESH
    return stored if isinstance(stored, Activity) else _restored(stored)


def follow(
    activity: Activity,
    decision: Decision,
    latest: int,
    findings: Iterable[Finding],
    states: Mapping[str, Sequence[Any]],
    changes: Changes,
) -> Activity:
    """Follow a session to its next record; add what that contributes to ``changes``.

    Args:
        activity: the session's activity before the record.
        decision: the next record of the session.
        latest: greatest event time of the session, with the record, ms.
        findings: what the detectors found in the record.
        states: of the detectors after the record; that of the verdict knows what the session used.
        changes: collects what the record contributes.
    """
    bucket = latest // BUCKET_MS
    # As the episodes name them; and what is remembered of them stays small, whatever producers send.
    agent = _agent(bounded(decision.agent_id)) if decision.has_agent else ""
    if bucket != activity.bucket:
        activity = _moved(activity, bucket, changes)
    seen = activity.seen
    tool = _tool(bounded(decision.tool_call)) if decision.tool_call else ""
    if (agent and seen.get(agent) != 0) or (tool and seen.get(tool) != 0):
        seen = _see(seen, [key for key in (agent, tool) if key], bucket, changes)
        activity = Activity(seen, *activity[1:])
    for finding in findings:
        if finding.kind is _EPISODE:
            episode = finding.fields
            if episode["phase"] == "opened":
                activity = activity._replace(waste=_beginning(activity, episode, decision, states))
            activity = _episode(activity, episode, agent, changes)
    return activity


def leave(activity: Activity, findings: Iterable[Finding], changes: Changes) -> None:
    """Let a session that ends close what it has open; that it was seen stays.

    Args:
        activity: after its last record.
        findings: what the end of the session brings.
        changes: of the record it ends with.
    """
    for finding in findings:
        if finding.kind is _EPISODE:
            activity = _episode(activity, finding.fields, "", changes)
    if activity.looping:
        _loop(activity.looping, activity.bucket, -1, changes)


_FRESH = Activity()
# The sliding day begins with an hour, so it may go back nearly an hour further.
_LONGEST_DAY = (DAY + 1) * HOUR
_NO_WASTE = (0, None, 0, 0)


@lru_cache(maxsize=4096)
def _agent(agent_id: str) -> str:
    return agent_key(bounded(agent_id, LONGEST_NAME))


@lru_cache(maxsize=4096)
def _tool(name: str) -> str:
    return tool_key(bounded(name, LONGEST_NAME))


def _restored(stored: Sequence[Any]) -> Activity:
    """Read back an activity, also one of an earlier version, which had buckets for ages, behind its own."""
    first, second, *others = stored
    if not isinstance(first, int):
        return Activity(first, second, *others)
    return Activity({key: first - bucket for key, bucket in second.items()}, first, *others)


def _moved(activity: Activity, bucket: int, changes: Changes) -> Activity:
    """Return the activity in a newer bucket; take a session that loops along."""
    seen, before, looping, *others = activity
    if looping:
        _loop(looping, before, -1, changes)
        _loop(looping, bucket, 1, changes)
    return Activity({key: age + bucket - before for key, age in seen.items()}, bucket, looping, *others)


def _loop(looping: Sequence[Sequence[str]], bucket: int, n: int, changes: Changes) -> None:
    """Put the session among those that loop, or with -1 take it out."""
    keys, signatures = looping
    for key in keys:
        if key:
            changes.add(key, "looping", bucket, n)
    if agent := keys[0]:
        for signature in signatures:
            changes.chain(agent, signature, bucket, n)


def _see(seen: Mapping[str, int], keys: Sequence[str], bucket: int, changes: Changes) -> Mapping[str, int]:
    now = dict(seen)
    for key in keys:
        age = now.get(key)
        if age == 0:
            continue
        if age is not None:
            changes.add(key, "sessions", bucket - age, -1)
        else:
            most = MOST_TOOLS if is_tool(key) else MOST_SEEN
            if len(now) >= most:
                now = {name: ago for name, ago in now.items() if ago < _LONGEST_DAY}
            if len(now) >= most:
                continue
        changes.add(key, "sessions", bucket)
        now[key] = 0
    return now


def _beginning(
    activity: Activity, episode: Mapping[str, Any], decision: Decision, states: Mapping[str, Sequence[Any]]
) -> list[Any]:
    """Return the waste with the onset of the episode that opens with this record."""
    verdict: Any = states["verdict"]
    _, _, *wasted_before = activity.waste or _NO_WASTE
    onset = _whole(verdict.tokens) - _whole(episode["tokens_since_onset"])
    cost, session_cost = episode["cost_since_onset"], decision.cumulative_cost
    onset_cost = None if cost is None or session_cost is None else _units(session_cost) - _units(cost)
    return [onset, onset_cost, *wasted_before]


def _episode(activity: Activity, episode: Mapping[str, Any], agent: str, changes: Changes) -> Activity:
    """Take note of an event of an episode of the session's newest record."""
    seen, bucket, looping, waste, counted = activity
    recovered = episode["phase"] == "recovered"
    if episode["level"] != _LOOP or (recovered and not looping):
        return activity
    if not looping:
        looping = _entered(episode, agent)
        _loop(looping, bucket, 1, changes)
        if episode["episode_id"] not in counted:
            counted = [*counted, episode["episode_id"]][-MOST_COUNTED:]
            _add(looping, "episodes", bucket, 1, changes)
    onset, onset_cost, before, before_cost = waste or _NO_WASTE
    now, now_cost = onset + _whole(episode["tokens_since_onset"]), before_cost
    _add(looping, "tokens", bucket, now - max(onset, before), changes)
    if episode["cost_since_onset"] is not None:
        if onset_cost is None:
            onset_cost = before_cost
        now_cost = onset_cost + _units(episode["cost_since_onset"])
        _add(looping, "cost", bucket, now_cost - max(onset_cost, before_cost), changes)
    waste = [onset, onset_cost, max(before, now), max(before_cost, now_cost)]
    if recovered:
        _loop(looping, bucket, -1, changes)
        looping = ()
    return Activity(seen, bucket, looping, waste, counted)


def _entered(episode: Mapping[str, Any], agent: str) -> list[Sequence[str]]:
    tools = dict.fromkeys(_tool(name) for name in episode["tools"][:MOST_EVIDENCE] if name)
    return [[agent, *tools], [*dict.fromkeys(episode["signatures"][:MOST_EVIDENCE])]]


def _add(looping: Sequence[Sequence[str]], series: str, bucket: int, n: int, changes: Changes) -> None:
    n = min(n, MOST_WASTE)
    if n > 0:
        for key in looping[0]:
            if key:
                changes.add(key, series, bucket, n)


def _whole(number: float) -> int:
    return round(max(-1e15, min(number, 1e15)))


def _units(cost: float) -> int:
    return _whole(cost * _COST_UNITS)

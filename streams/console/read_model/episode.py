"""Episodes and findings: each event is a row already, and two rows of one episode merge into one."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any, Final

import orjson

from streams.console.read_model.offsets import Places
from streams.console.read_model.place import NOWHERE, Fields, named_place, place
from streams.console.read_model.points import amount
from streams.console.read_model.rows import EpisodeRow, FindingRow
from streams.core.domain.event_kind import EventKind
from streams.core.domain.level import Level

#: In the order in which one record can bring them about.
_PHASES: Final = ("opened", "escalated", "still_open", "recovered")

#: By default an episode is published when it escalates, not when it opens.
_REOPENS: Final = frozenset({"opened", "escalated"})

#: How many places of entropy alerts are counted, of each partition.
KEPT_ALERTS: Final = 4_096

_WINDOW_RULE: Final = "A1"
_RULES: Final = {EventKind.DIVERGENCE_SUSPECTED: "A2", EventKind.DRIFT_PATTERN: "A3"}


def cause_of(rule: str, tools: list[str | None]) -> str:
    """Return what episodes of the same cause share: the rule and the set of tools.

    Two sessions seldom repeat one and the same call: by their calls, 2,000 sessions had 2,000 causes.

    >>> cause_of("R2", ["b", "a", "b"]) == cause_of("R2", ["a", "b"]) != cause_of("R1", ["a", "b"])
    True
    """
    named = sorted({tool or "" for tool in tools})
    digest = blake2b("\n".join(named).encode("utf-8", "replace"), digest_size=8)
    return f"{rule}:{digest.hexdigest()}"


def episode_of(fields: Fields) -> EpisodeRow:
    """Return the episode as one event of it says."""
    at = named_place(fields["partition"], fields["offset"])
    tokens, cost = amount(fields["tokens_since_onset"] or 0), fields["cost_since_onset"]
    cost = None if cost is None else amount(cost)
    loops = fields["level"] == Level.LOOP
    signatures = list(fields["signatures"])
    return EpisodeRow(
        episode_id=fields["episode_id"],
        session_id=fields["session_id"],
        agent_id=fields["agent_id"],
        partition=fields["partition"],
        level=fields["level"],
        phase=fields["phase"],
        open=int(fields["phase"] != "recovered"),
        reopened=int(bool(fields["reopened"])),
        rule=fields["rule"],
        period=fields["period"],
        occurrences=fields["count"],
        tools=_text(list(fields["tools"])),
        signatures=_text(signatures),
        first_offset=fields["first_offset"],
        first_ts=fields["first_timestamp"],
        last_offset=fields["last_offset"],
        last_ts=fields["last_timestamp"],
        records=fields["records"],
        tokens=tokens,
        cost=cost,
        reason=fields["reason"],
        opened_ts=fields["timestamp"],
        loop_ts=fields["timestamp"] if loops else None,
        tokens_at_loop=tokens if loops else None,
        cause_key=cause_of(fields["rule"], list(fields["tools"])),
        seen_offset=fields["offset"],
        seen_ts=fields["timestamp"],
        opened_place=at,
        tokens_at_open=tokens,
        cost_at_open=cost,
        loop_place=at if loops else None,
        cost_at_loop=cost if loops else None,
        reopened_place=at if fields["reopened"] and fields["phase"] in _REOPENS else NOWHERE,
        stuck=_evidence(fields.get("stuck")),
    )


def figures_of(verdict: Fields) -> str:
    """Return the open episode of a record's verdict, as JSON: what `current` lays over the row.

    Raises:
        KeyError, TypeError, ValueError: the block is not what the job writes.
    """
    block = verdict["episode"]
    cost = block["cost_since_onset"]
    numbers = (block["count"], block["last_offset"], block["last_timestamp"], block["records"])
    if any(type(each) is not int for each in numbers):
        raise TypeError("no number")
    signatures = [str(each) for each in block["signatures"]]
    figures = {
        "rule": str(block["rule"]),
        "period": None if block["period"] is None else int(block["period"]),
        "occurrences": block["count"],
        "tools": _text([str(each) for each in block["tools"]]),
        "signatures": _text(signatures),
        "last_offset": block["last_offset"],
        "last_ts": block["last_timestamp"],
        "records": block["records"],
        "tokens": amount(block["tokens_since_onset"] or 0),
        "cost": None if cost is None else amount(cost),
        "cause_key": cause_of(str(block["rule"]), [str(each or "") for each in block["tools"]]),
        "stuck": _evidence(block.get("stuck")),
    }
    return orjson.dumps({"episode_id": verdict["episode_id"], "figures": figures}).decode()


def current(row: EpisodeRow, said: str | None, at: int) -> EpisodeRow:
    """Return an open episode as of the newest record of its session, and not as of its newest event.

    Args:
        row: the episode, by its events.
        said: `figures_of` the newest record that was read, None if it had none.
        at: place of that record.
    """
    if said is None or not row.open or at < place(row.partition, row.seen_offset):
        return row
    document = orjson.loads(said)
    return row._replace(**document["figures"]) if document["episode_id"] == row.episode_id else row


def _evidence(stuck: Fields | None) -> str | None:
    """Return the steps that raised the stuck score, by kind; others than the job may have written them."""
    if stuck is None:
        return None
    kinds = dict(stuck["kinds"])
    if any(type(count) is not int for count in kinds.values()):
        raise TypeError("no count")
    return _text({"kinds": kinds})


def merged(one: EpisodeRow, other: EpisodeRow) -> EpisodeRow:
    """Return what two rows of one episode say together; the order and repeats do not matter."""
    newest = max(one, other, key=_newest)
    opened = min(one, other, key=_opened)
    looped = min(one, other, key=_looped)
    return newest._replace(
        opened_ts=opened.opened_ts,
        opened_place=opened.opened_place,
        tokens_at_open=opened.tokens_at_open,
        cost_at_open=opened.cost_at_open,
        loop_ts=looped.loop_ts,
        loop_place=looped.loop_place,
        tokens_at_loop=looped.tokens_at_loop,
        cost_at_loop=looped.cost_at_loop,
        reopened_place=max(one.reopened_place, other.reopened_place),
    )


def _newest(row: EpisodeRow) -> tuple[int, int, float]:
    phase = _PHASES.index(row.phase) if row.phase in _PHASES else NOWHERE
    return place(row.partition, row.seen_offset), phase, row.tokens


def _opened(row: EpisodeRow) -> tuple[int, float]:
    return row.opened_place, row.tokens_at_open


def _looped(row: EpisodeRow) -> tuple[bool, int, float]:
    return row.loop_place is None, row.loop_place or 0, row.tokens_at_loop or 0


def event_of(row: EpisodeRow) -> dict[str, Any]:
    """Return the fields of the newest event, as far as its sentence needs them."""
    return {
        "event_type": str(EventKind.LOOP_EPISODE),
        "phase": row.phase,
        "level": row.level,
        "reopened": bool(row.reopened),
        "reason": row.reason,
        "rule": row.rule,
        "period": row.period,
        "count": row.occurrences,
        "tools": orjson.loads(row.tools),
        "first_offset": row.first_offset,
        "first_timestamp": row.first_ts,
        "last_timestamp": row.last_ts,
        "timestamp": row.seen_ts,
        "records": row.records,
        "tokens_since_onset": row.tokens,
        "cost_since_onset": row.cost,
        "stuck": None if row.stuck is None else orjson.loads(row.stuck),
    }


def finding_of(fields: Fields) -> FindingRow:
    """Return an event of session-alerts as a row."""
    kind = fields["event_type"]
    return FindingRow(
        id=fields["id"],
        session_id=fields["session_id"],
        kind=kind,
        rule=fields.get("rule") or _RULES.get(kind),
        level=fields.get("level"),
        ts=fields["timestamp"],
        partition=fields["partition"],
        offset=fields["offset"],
        body=_text(dict(fields)),
        offsets=None,
    )


def entropy_id(session_id: str) -> str:
    """Return the id of the one row for all entropy alerts of a session."""
    return f"{session_id}/{EventKind.ENTROPY_ALERT}"


def entropy_of(fields: Fields) -> FindingRow:
    """Return one entropy alert as the row of its session."""
    places = Places(KEPT_ALERTS)
    places.add(fields["partition"], fields["offset"])
    first = {name: fields[name] for name in ("partition", "offset", "timestamp")}
    body = {"first": first, "newest": dict(fields), "lowest": fields["entropy_score"], "count": 1}
    return FindingRow(
        id=entropy_id(fields["session_id"]),
        session_id=fields["session_id"],
        kind=str(EventKind.ENTROPY_ALERT),
        rule=_WINDOW_RULE,
        level=fields.get("verdict_level"),
        ts=fields["timestamp"],
        partition=fields["partition"],
        offset=fields["offset"],
        body=_text(body),
        offsets=places.stored(),
    )


def merged_findings(one: FindingRow, other: FindingRow) -> FindingRow:
    """Return what two rows with one id say together."""
    newest = max(one, other, key=_finding_order)
    if one.offsets is None or other.offsets is None:
        return newest
    bodies = [orjson.loads(each.body) for each in (one, other)]
    places = Places.of(one.offsets, KEPT_ALERTS)
    for each in Places.of(other.offsets, KEPT_ALERTS):
        places.add(*each)
    first = min((body["first"] for body in bodies), key=_first_order)
    lowest = min(body["lowest"] for body in bodies)
    body_of_newest = orjson.loads(newest.body)["newest"]
    body = {"first": first, "newest": body_of_newest, "lowest": lowest, "count": len(places)}
    return newest._replace(body=_text(body), offsets=places.stored())


def _finding_order(row: FindingRow) -> tuple[int, int, str]:
    return row.partition, row.offset, row.body if row.offsets is None else ""


def _first_order(first: Fields) -> tuple[int, int]:
    return first["partition"], first["offset"]


def _text(value: list[str] | dict[str, Any]) -> str:
    return orjson.dumps(value).decode()

"""One row of the inbox, as JSON: what the page and the frames show of a session."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final
from zlib import crc32

import orjson

from streams.console.inbox.terms import rate, shown_at, tools
from streams.console.read_model.attention import Attention
from streams.console.read_model.control import ControlState
from streams.console.read_model.episode import event_of
from streams.console.read_model.rows import EpisodeRow, FindingRow
from streams.console.read_model.session import SessionState
from streams.core.detectors.drift.signals import SUGGESTIONS
from streams.core.detectors.verdict.presentation import pattern
from streams.core.domain.event_kind import EventKind
from streams.core.domain.topic import Topic
from streams.operate.explain.explanation import sentence

Content = dict[str, Any]

#: Other episodes and findings that a row names; the session's page has all.
MOST_BESIDES: Final = 5


def row(about: Attention, control: ControlState, now: int) -> Content:
    """Return the content of a row.

    ``version`` is a checksum of everything else: equal versions look the same, on every instance.
    """
    session, episode = about.case.session, about.episode
    what, said = _what(about, control)
    content: Content = {
        "session_id": about.session_id,
        "agent_id": session.agent_id,
        "agent_type": session.agent_type,
        "task_type": session.task_type,
        "goal": session.goal,
        "class": str(about.class_),
        "tab": str(about.tab),
        "ending": None if about.ending is None else str(about.ending),
        "ended": session.ended,
        "what": what,
        "sentence": said,
        "subject": about.subject,
        "episode_id": episode.episode_id if episode else None,
        "level": episode.level if episode else None,
        "phase": episode.phase if episode else None,
        "reopened": bool(episode.reopened) if episode else False,
        "rule": episode.rule if episode else (about.finding.rule if about.finding else None),
        "period": episode.period if episode else None,
        "count": episode.occurrences if episode else None,
        "tools": tools(about),
        "cause_key": episode.cause_key if episode else None,
        "first": _first(about),
        "last": _last(about),
        "records": episode.records if episode else session.records,
        "tokens": about.tokens,
        "cost": about.cost,
        "rate_per_min": round(rate(about, shown_at(about, now))),
        "spark": [round(each) for each in session.points.chart(now)],
        "budget": budget(session),
        "drift": session.drift_level,
        "node": node(session, control),
        "others": others(about),
        "besides": besides(about),
        "triage": _triage(about),
        "control": _control(control, now),
        "guards": _guards(about),
        "settings_version": session.settings_version,
    }
    content["version"] = crc32(orjson.dumps(content))
    return content


def _what(about: Attention, control: ControlState) -> tuple[str, str]:
    """Return what is wrong, short and as a whole sentence."""
    if about.episode is not None:
        what, said = _said(about.episode)
        return (what, said) if about.ending is None else (f"{about.ending}: {what}", said)
    if control.continues:
        said = control.label(0)
    elif about.finding is not None:
        said = _found(about.finding)
    else:
        said = _waits(about.case.session)
    return said, said


@lru_cache(maxsize=1_000)
def _said(episode: EpisodeRow) -> tuple[str, str]:
    """Return what an episode is, short and as a sentence; two pages a second show mostly the same ones."""
    fields = event_of(episode)
    return pattern(fields), sentence(fields)


def _waits(session: SessionState) -> str:
    if session.hitl:
        return "the agent asks for a person"
    if session.denied:
        return "the budget is used up, and was not extended"
    suggestion = SUGGESTIONS.get(session.drift_level or "", "")
    drift = "" if session.drift is None else f" {session.drift:.2f}"
    return f"drift{drift}: {suggestion}"


def _first(about: Attention) -> Content | None:
    if about.episode is not None:
        place = about.episode.partition, about.episode.first_offset, about.episode.first_ts
    elif about.finding is not None:
        place = about.finding.partition, about.finding.offset, about.finding.ts
    else:
        return None
    return {"topic": str(Topic.DECISION_LOGS), "partition": place[0], "offset": place[1], "at": place[2]}


def _last(about: Attention) -> Content | None:
    if about.episode is None:
        return {"at": about.newest}
    episode = about.episode
    return {"partition": episode.partition, "offset": episode.last_offset, "at": episode.last_ts}


def budget(session: SessionState) -> Content | None:
    """Return what is left of the budgets, None if it is not known."""
    if session.budget is None:
        return None
    return {
        "tokens_left": session.budget["tokens_remaining"],
        "steps_left": session.budget["steps_remaining"],
        "exhausted": bool(session.budget["exhausted"]),
    }


def node(session: SessionState, control: ControlState) -> str:
    """Return the state of the node, with paused laid over it."""
    return "paused" if control.is_paused else session.shown_node


def others(about: Attention) -> int:
    """Return how many other episodes and findings the session has."""
    own = about.finding.id if about.finding else None
    findings = (each for each in about.case.findings.values() if each.kind != EventKind.LOOP_EPISODE)
    shown = int(about.episode is not None)
    return len(about.case.episodes) - shown + sum(each.id != own for each in findings)


def besides(about: Attention) -> list[Content]:
    """Return what else was found, newest first; what was found again and again stands there once."""
    own = about.episode.episode_id if about.episode else None
    episodes = (row for row in about.case.episodes.values() if row.episode_id != own)
    levels = [
        *((row.seen_ts, str(row.level), row) for row in episodes),
        *(
            (row.ts, row.level or "", row)
            for row in about.case.findings.values()
            if row.kind != EventKind.LOOP_EPISODE and row != about.finding
        ),
    ]
    distinct: dict[str, Content] = {}
    for at, level, row in sorted(levels, key=lambda each: -each[0]):
        what = _found(row)
        distinct.setdefault(what, {"at": at, "level": level, "what": what})
        if len(distinct) == MOST_BESIDES:
            break
    return list(distinct.values())


@lru_cache(maxsize=4_000)
def _found(row: EpisodeRow | FindingRow) -> str:
    if isinstance(row, EpisodeRow):
        return _said(row)[1]
    body = orjson.loads(row.body)
    return sentence(body.get("newest") or body)


def _triage(about: Attention) -> Content:
    triage, returned = about.triage, about.standing.returned
    if triage is None:
        return _UNTOUCHED
    return {
        "state": about.standing.state,
        "by": triage.by,
        "at": triage.at,
        "until": triage.until,
        "until_tokens": triage.until_tokens,
        "note": triage.note,
        "assignee": triage.assignee,
        "returned": returned,
    }


_UNTOUCHED: Content = {
    "state": "open",
    "by": None,
    "at": None,
    "until": None,
    "until_tokens": None,
    "note": None,
    "assignee": None,
    "returned": None,
}


def _control(control: ControlState, now: int) -> Content:
    says, counting = control.words(now)
    return {
        "state": str(control.state),
        "label": control.label(now),
        "says": says,
        "counting": counting,
        "since": control.since,
        "guards": [control.in_effect, control.guards],
        "silent": control.silent,
        "after_pause": control.after_pause,
        "command_id": control.command_id,
        "action": control.action,
        "scope": control.scope,
        "expires_at": control.expires_at,
        "on_timeout": control.on_timeout,
        "ends_soon": control.ends_soon(now),
    }


def _guards(about: Attention) -> list[Content]:
    return [
        {
            "guard_id": guard.guard_id,
            "integration": guard.integration,
            "version": guard.version,
            "seen": guard.seen,
            "detached": bool(guard.detached),
        }
        for _, guard in sorted(about.case.guards.items())
    ]

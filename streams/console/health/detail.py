"""What the page of one agent or tool has beside its counts: open sessions, shared loops, new settings."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import orjson

from streams.console.health.ranking import RankingScope
from streams.console.health.report import HealthReport
from streams.console.inbox.row import row
from streams.console.inbox.terms import tools
from streams.console.read_model.attention import Attention
from streams.console.read_model.model import ReadModel
from streams.console.read_model.rows import VersionRow
from streams.core.domain.topic import Topic

#: Open sessions that the page lists.
MOST_OPEN: Final = 50


def open_sessions(model: ReadModel, scope: RankingScope, name: str, now: int) -> dict[str, Any]:
    """Return the sessions of an agent, or those that loop with a tool, that are not over: worst first."""
    found = [
        about
        for about in model.attention(now).values()
        if about.ending is None and _concerns(about, scope, name)
    ]
    found.sort(key=lambda about: about.position)
    shown = found[:MOST_OPEN]
    return {
        "open": [row(about, model.control(about.session_id, now), now) for about in shown],
        "open_count": len(found),
    }


def _concerns(about: Attention, scope: RankingScope, name: str) -> bool:
    if scope is RankingScope.AGENT:
        return about.case.session.agent_id == name
    return name in tools(about)


def shared_loops(model: ReadModel, report: HealthReport, now: int) -> list[dict[str, Any]]:
    """Return the signatures that loop in several sessions, each with its cause: a group of the inbox.

    ``cause_key`` is None if no session that loops with it is in memory.
    """
    causes: dict[str, Attention] = {}
    for about in model.attention(now).values():
        if about.episode is not None and about.case.session.agent_id == report.name:
            for signature in orjson.loads(about.episode.signatures):
                causes.setdefault(str(signature), about)
    return [
        {
            "signature": chain.signature,
            "sessions": chain.sessions,
            "cause_key": about.episode.cause_key if about and about.episode else None,
            "what": row(about, about.control, now)["what"] if about else "",
        }
        for chain in report.cross_chains
        for about in (causes.get(chain.signature),)
    ]


def settings_changes(versions: Iterable[VersionRow], since: int) -> list[dict[str, Any]]:
    """Return the changes of detection settings since a time, oldest first.

    >>> versions = [VersionRow("detector-config", 4, 9_000, 7, None, "ana", "fewer false alarms", "{}")]
    >>> settings_changes(versions, 8_000)
    [{'at': 9000, 'version': 7, 'by': 'ana', 'why': 'fewer false alarms'}]
    """
    made = [
        (each.at or each.ts, each)
        for each in versions
        if each.topic == Topic.DETECTOR_CONFIG and each.body is not None
    ]
    return [
        {"at": at, "version": each.version, "by": each.by, "why": each.why}
        for at, each in sorted(made, key=lambda each: (each[0], each[1].version))
        if at >= since
    ]

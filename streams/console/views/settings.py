"""The settings of detection: what is in force, how it came to that, and what a change would do."""

from __future__ import annotations

import asyncio
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

import orjson
from aiohttp import web

from streams.console.console import Console
from streams.console.live_board import LiveBoard
from streams.console.proposal import Proposal, as_typed, proposal, typed_in
from streams.console.settings_versions import Settings, Version
from streams.console.views.following import board_of
from streams.core.detectors.settings import DEFAULTS, DetectionSettings
from streams.core.domain.text.printable import printable
from streams.core.errors import ConfigurationError
from streams.core.proof import warnings
from streams.core.settings_document import MEANINGS, RANGES, to_document
from streams.operate.explain.settings_topic import differing

_NEWEST_DIFFERENCES: Final = 20
_MOST_DIGITS: Final = 16


def routes(console: Console) -> Sequence[web.RouteDef]:
    """Return the routes of what is in force, of its history, and of two versions side by side."""

    async def current(request: web.Request) -> web.Response:
        board, query = board_of(console), request.query
        versions = board.versions
        wanted, only_changed = query.get("q", "").strip().lower(), query.get("changed") == "1"
        rows = [
            row
            for row in _rows(versions)
            if (not only_changed or row["changed"])
            and (wanted in row["name"] or wanted in row["meaning"].lower())
        ]
        content = {
            **_heading(versions),
            "rows": rows,
            "all": len(RANGES),
            "changed": sum(row["changed"] for row in _rows(versions)),
            "query": dict(query),
            "dead": await _dead(versions.in_force),
            "spread": await _spread(console, versions.in_force.version),
        }
        return console.answer(request, "settings.html.j2", "settings", content)

    async def history(request: web.Request) -> web.Response:
        versions = board_of(console).versions
        content = {
            **_heading(versions),
            "versions": [_version_row(each, versions.in_force) for each in reversed(versions.history)],
            "trials": [_version_row(each, versions.in_force) for each in reversed(versions.trials)],
        }
        return console.answer(request, "settings_history.html.j2", "settings", content)

    async def diff(request: web.Request) -> web.Response:
        versions = board_of(console).versions
        a, b = (_version(versions, request.query.get(name, "")) for name in ("a", "b"))
        content = {
            **_heading(versions),
            "a": a.version,
            "b": b.version,
            "rows": changes_of(differing(a, b)),
            "numbers": sorted({0, *(each.after.version for each in versions.history if each.after)}),
        }
        return console.answer(request, "settings_diff.html.j2", "settings", content)

    async def propose(request: web.Request) -> web.Response:
        board = board_of(console)
        found = proposal(board.settings, _asked(request.query, board.settings))
        # A backtest of other changes is none of these: the form that changes them leaves it out.
        test = request.query.get("backtest", "")[:_MOST_DIGITS]
        typed = {name: as_typed(value) for name, value in found.changes.items()}
        here = console.pages.url("/settings/propose", **typed, backtest=test)
        content = {
            **await proposed(board, found),
            "backtest": test,
            "here": here.removeprefix(console.pages.url("")),
        }
        return console.answer(request, "settings_propose.html.j2", "settings", content)

    return [
        web.get("/settings", current),
        web.get("/settings/history", history),
        web.get("/settings/diff", diff),
        web.get("/settings/propose", propose),
    ]


async def proposed(board: LiveBoard, found: Proposal) -> dict[str, Any]:
    """Return what there is to know of a proposal: what it changes, what is wrong, what is tried out."""
    versions = board.versions
    tried = versions.tried
    return {
        **_heading(versions),
        "fields": found.fields(),
        "others": [name for name in RANGES if name not in found.changes],
        "together": found.together(),
        "acceptable": found.acceptable,
        "changes_text": orjson.dumps(found.changes).decode(),
        "words": [shlex.quote(f"{name}={as_typed(value)}") for name, value in found.changes.items()],
        "rows": changes_of(found.changed),
        "dead": await _dead(found.after) if found.acceptable else [],
        "trial": None if tried is None else _trial(board, tried),
        "tries_this": tried is not None and not differing(tried, found.after),
    }


def changes_of(found: Mapping[str, tuple[Any, Any]]) -> list[dict[str, str]]:
    """Return values before and after as people type them."""
    return [
        {"name": name, "before": as_typed(before), "after": as_typed(after), "meaning": MEANINGS[name]}
        for name, (before, after) in found.items()
    ]


def _asked(query: Mapping[str, str], in_force: DetectionSettings) -> dict[str, Any]:
    found = typed_in(query.items())
    drop, add = query.get("drop"), query.get("add", "")
    if add in RANGES:
        found.setdefault(add, to_document(in_force)[add])
    return {name: value for name, value in found.items() if name != drop}


def _heading(versions: Settings) -> dict[str, Any]:
    newest = next((each for each in reversed(versions.history) if not each.ignored), None)
    tried = next((each for each in reversed(versions.trials) if each.after is not None), None)
    return {
        "version": versions.in_force.version,
        "newest": None if newest is None else newest.row._asdict() | {"body": None},
        "tried": None
        if versions.tried is None or tried is None
        else {
            "version": versions.tried.version,
            "by": tried.row.by,
            "at": tried.row.at,
            "why": tried.row.why,
        },
    }


def _rows(versions: Settings) -> list[dict[str, Any]]:
    in_force, defaults, by = to_document(versions.in_force), to_document(DEFAULTS), versions.set_by()
    return [
        {
            "name": name,
            "value": as_typed(value),
            "default": as_typed(defaults[name]),
            "changed": value != defaults[name],
            "wanted": RANGES[name].wanted,
            "meaning": MEANINGS[name],
            "by": None if name not in by else _who(by[name]),
        }
        for name, value in in_force.items()
    ]


def _who(version: Version) -> dict[str, Any]:
    return {
        "version": version.row.version,
        "by": version.row.by,
        "at": version.row.at,
        "why": version.row.why,
    }


def _version_row(version: Version, in_force: DetectionSettings) -> dict[str, Any]:
    after = version.after
    return {
        **_who(version),
        "offset": version.row.offset,
        "ts": version.row.ts,
        "ends": after is None,
        "ignored": version.ignored,
        "refused": [f"{each.setting[:80]}: {each.problem}" for each in version.warnings],
        "changes": changes_of(version.changed) if not version.ignored and after is not None else [],
        "in_force": not version.ignored and after is in_force,
        # What makes the settings in force those of this version again.
        "back": {}
        if after is None or version.ignored
        else {name: as_typed(value) for name, (_, value) in differing(in_force, after).items()},
    }


def _version(versions: Settings, text: str) -> DetectionSettings:
    if not text:
        return versions.in_force
    number = int(text) if text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS else -1
    found = versions.version(number)
    if found is None:
        raise ConfigurationError(
            f"Version {printable(text, 40)} is not held. /settings/history shows those that are; 0 is the "
            "defaults."
        )
    return found


def _trial(board: LiveBoard, tried: DetectionSettings) -> dict[str, Any]:
    model = board.model
    counts = Counter(
        {
            field: count.row().occurrences
            for (version, field), count in model.differences.items()
            if version == tried.version
        }
    )
    newest = sorted(
        (row for row in model.ledger.shadows.values() if row.shadow_version == tried.version),
        key=lambda row: (-row.ts, row.id),
    )
    return {
        "version": tried.version,
        "rows": changes_of(differing(board.settings, tried)),
        "counts": [{"field": field, "records": count} for field, count in counts.most_common()],
        "newest": [
            {"session_id": row.session_id, "ts": row.ts, "what": _differences(row.body)}
            for row in newest[:_NEWEST_DIFFERENCES]
        ],
    }


def _differences(body: str) -> list[str]:
    listed = orjson.loads(body).get("differences") or []
    return [
        f"{each['field'].replace('_', ' ')}: {each['live'] or 'none'} → {each['shadow'] or 'none'}"
        for each in listed
    ]


async def _dead(settings: DetectionSettings) -> list[str]:
    """Return which rules can never fire; the proof takes 50 ms, in which other pages would wait."""
    return list(await asyncio.to_thread(warnings, settings))


async def _spread(console: Console, version: int) -> dict[str, Any] | None:
    """Return how many partitions follow a version, as the workers tell; None if no worker is named."""
    job = board_of(console).job
    if not job.named:
        return None
    state = await job.look()
    if state.problem:
        return {"problem": state.problem}
    followed = [
        int(figures["settings"])
        for worker in state.workers
        if worker.metrics is not None
        for figures in worker.metrics.partitions.values()
        if "settings" in figures
    ]
    return {
        "problem": "",
        "follow": followed.count(version),
        "partitions": len(followed),
        "others": sorted(set(followed) - {version}),
        "silent": sum(worker.live is None for worker in state.workers),
    }

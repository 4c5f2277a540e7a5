"""The job: how the workers fare, partition by partition, and how far the console has read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import orjson
from aiohttp import web

from streams.console.console import Console
from streams.console.topic_follower import Feed
from streams.console.views.following import board_of
from streams.console.watch.conditions import ConditionState, told
from streams.console.watch.history import HistoryStep
from streams.console.watch.watch import KEPT_MS, STEP_MS, WorkerWatch
from streams.console.workers import WorkerState
from streams.core.errors import ConfigurationError, InfrastructureError

#: What the strips show: the series, its title, its unit, and its colour.
_SHOWN: Final = (
    ("rate", "Records a second", "a second", "accent"),
    ("lag", "Records behind", "records", "critical"),
)

#: What only the worker that processes a partition says of it.
_PROCESSED: Final = frozenset({"lag", "waiting", "settings"})


def routes(console: Console) -> Sequence[web.RouteDef]:
    """Return the route of the page."""

    async def show(request: web.Request) -> web.Response:
        board = board_of(console)
        content = {
            **_reading(board.feed),
            "sessions": len(board.model.cases),
            "archive_bytes": _size(console.settings.console_dir),
            **await _workers(board.watch, console.clock()),
        }
        return console.answer(request, "job.html.j2", "job", content)

    return [web.get("/job", show)]


async def _workers(watch: WorkerWatch, now: int) -> dict[str, Any]:
    """Return what the workers say; if none is named, what the brokers say of their group."""
    content: dict[str, Any] = {
        "named": bool(watch.named),
        "group": watch.group,
        "workers": [],
        "partitions": [],
        "conditions": [],
        "steps": [],
        "strips_json": "",
        "problem": "",
    }
    try:
        if not watch.named:
            lags = await watch.lag()
            return content | {"partitions": [{"partition": each, "lag": lag} for each, lag in lags.items()]}
        found = await watch.look()
    except (ConfigurationError, InfrastructureError) as error:
        return content | {"problem": str(error)}
    history = await watch.history()
    steps = history.steps(now - KEPT_MS, now, STEP_MS)
    conditions = told(history, now)
    return content | {
        "workers": [_fields(each) for each in found],
        "partitions": _partitions(found),
        "conditions": [each._asdict() for each in conditions],
        "bad": sum(each.state is ConditionState.BAD for each in conditions),
        "unknown": sum(each.state is ConditionState.UNKNOWN for each in conditions),
        "steps": [each._asdict() for each in steps if each.rate is not None or each.lag is not None],
        "strips_json": orjson.dumps(_strips(steps)).decode(),
    }


def _fields(worker: WorkerState) -> dict[str, Any]:
    metrics = worker.metrics
    by_partition = metrics.partitions.values() if metrics else ()
    return {
        "url": worker.url,
        "live": worker.live,
        "ready": worker.ready,
        "detail": worker.detail,
        "version": metrics.version if metrics else None,
        "lag": metrics.figures.get("lag") if metrics else None,
        "settings": sorted({int(each["settings"]) for each in by_partition if "settings" in each}),
        "processes": sum(not _PROCESSED.isdisjoint(each) for each in by_partition),
    }


def _partitions(found: Sequence[WorkerState]) -> list[dict[str, Any]]:
    """Return each partition with what the worker that processes it says, and how its standby fares."""
    rows: dict[int, dict[str, Any]] = {}
    for worker in found:
        for partition, figures in (worker.metrics.partitions if worker.metrics else {}).items():
            row = rows.setdefault(partition, {"partition": partition, "worker": None, "standby": None})
            if _PROCESSED.isdisjoint(figures):
                row["standby"] = figures.get("standby_lag")
            else:
                row |= {"worker": worker.url, **_whole(figures)}
    return [rows[each] for each in sorted(rows)]


def _whole(figures: Mapping[str, float]) -> dict[str, int]:
    return {name: int(value) for name, value in figures.items() if name != "standby_lag"}


def _strips(steps: Sequence[HistoryStep]) -> dict[str, Any]:
    """Return the steps as series, from a little before the first that is known."""
    known = next((n for n, each in enumerate(steps) if each.rate is not None or each.lag is not None), 0)
    shown = steps[max(0, min(known - 1, len(steps) - _FEWEST_STEPS)) :]
    return {
        "at": [each.at for each in shown],
        "rate": [each.rate for each in shown],
        "lag": [each.lag for each in shown],
        "changes": [],
        "shown": _SHOWN,
    }


_FEWEST_STEPS: Final = 12


def _reading(feed: Feed) -> dict[str, Any]:
    intake, lag = feed.intake, feed.lag()
    names = sorted({topic for topic, _ in feed.positions} | intake.unread.keys() | lag.keys())
    return {
        "topics": [
            {
                "topic": str(topic),
                "records": intake.records[topic],
                "lag": lag.get(topic),
                "unreadable": intake.unread[topic],
            }
            for topic in names
        ],
        "behind": sum(lag.values()),
        "records": intake.total,
        "unreadable": intake.unread.total(),
        "history_from": feed.history_from,
        "newest_unread": [each._asdict() for each in reversed(intake.newest_unread)],
    }


def _size(folder: Path) -> int:
    """Return the bytes of the files in a folder."""
    return sum(path.stat().st_size for path in folder.glob("*") if path.is_file())

"""The job: how it fares by its brokers and its workers, and how far the console has read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from aiohttp import web

from streams.console.auth import Identity
from streams.console.console import Console
from streams.console.topic_follower import TopicFollower
from streams.console.view import PageView
from streams.console.views.following import board_of
from streams.console.workers import JobState, WorkerState

#: What only the worker that processes a partition says of it.
_PROCESSED: Final = frozenset({"lag", "waiting", "settings"})

#: What of that the page shows; the lag is the word of the brokers.
_SHOWN: Final = ("waiting", "settings", "shadow")

#: Parts of the page that change, by their ids: macros of the template.
_PARTS: Final = {"job-figures": "figures", "job-workers": "workers_card", "job-partitions": "partitions_card"}


def routes(console: Console) -> Sequence[web.RouteDef]:
    """Return the route of the page."""

    async def show(request: web.Request) -> web.Response:
        board = board_of(console)
        if board.job.newest is None:
            await board.job.look()
        content = {
            **_job(console),
            **_reading(board.feed),
            "sessions": len(board.model.cases),
            "archive_bytes": _size(console.settings.console_dir),
        }
        return console.answer(request, "job.html.j2", "job", content)

    return [web.get("/job", show)]


async def live(console: Console, _: Mapping[str, str], who: Identity, now: int) -> PageView:
    """Return the parts of the page that change. Nobody is asked: the newest answers are at hand."""
    found = console.redaction.applied({**_job(console), **_reading(board_of(console).feed)}, who.reads_as)
    parts = {
        name: console.pages.fragment("job_parts.html.j2", macro, found, now) for name, macro in _PARTS.items()
    }
    return PageView(parts={**parts, **console.header_parts(now)})


def _job(console: Console) -> dict[str, Any]:
    """Return what workers and brokers said last; ``as_of`` is None if nobody was asked yet."""
    job = board_of(console).job
    state = job.newest
    content: dict[str, Any] = {"as_of": None, "named": bool(job.named), "group": job.group}
    if state is None:
        state = JobState(0, (), None)
    else:
        content["as_of"] = state.at
    silent = sum(each.live is None for each in state.workers)
    return content | {
        "behind": state.behind,
        "behind_is_whole": state.is_whole,
        "lag_problem": state.lag_problem,
        "problem": state.problem,
        "answering": len(state.workers) - silent,
        "silent": silent,
        "workers": [_fields(each) for each in state.workers],
        "partitions": _partitions(state),
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
        "settings": sorted({int(each["settings"]) for each in by_partition if "settings" in each}),
        "processes": sum(not _PROCESSED.isdisjoint(each) for each in by_partition) if metrics else None,
    }


def _partitions(state: JobState) -> list[dict[str, Any]]:
    """Return each partition with its lag, what its worker says, and how its standby fares."""
    rows: dict[int, dict[str, Any]] = {}

    def row_of(partition: int) -> dict[str, Any]:
        empty = {"partition": partition, "lag": None, "worker": None, "standby": None}
        return rows.setdefault(partition, empty)

    for partition, lag in (state.lags or {}).items():
        row_of(partition)["lag"] = lag
    for worker in state.workers:
        for partition, figures in (worker.metrics.partitions if worker.metrics else {}).items():
            row = row_of(partition)
            if _PROCESSED.isdisjoint(figures):
                row["standby"] = figures.get("standby_lag")
            else:
                row["worker"] = worker.url
                row |= {
                    name: int(figures[name]) for name in ("waiting", "settings", "shadow") if name in figures
                }
    return [rows[each] for each in sorted(rows)]


def _reading(feed: TopicFollower) -> dict[str, Any]:
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
        "unread": sum(lag.values()),
        "records": intake.total,
        "unreadable": intake.unread.total(),
        "history_from": feed.history_from,
        "newest_unread": [each._asdict() for each in reversed(intake.newest_unread)],
    }


def _size(folder: Path) -> int:
    """Return the bytes of the files in a folder."""
    return sum(path.stat().st_size for path in folder.glob("*") if path.is_file())

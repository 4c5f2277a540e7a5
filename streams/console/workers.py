"""How the job fares: what workers and brokers say of it, and where a session stands."""

from __future__ import annotations

import asyncio
import socket
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

import aiohttp
import orjson
from prometheus_client.parser import text_string_to_metric_families

from streams.core.domain.text.figures import count
from streams.core.domain.topic import Topic
from streams.core.errors import ConfigurationError, EddyError, InfrastructureError
from streams.kafka.client import Brokers
from streams.operate.explain.worker_request import standing_at

_TIMEOUT: Final = aiohttp.ClientTimeout(total=2.0)
_LARGEST_ANSWER: Final = 4 << 20
_DNS_PARTS: Final = 3
_EVERY_S: Final = 5.0
#: More records that no worker has processed mean that a page shows what was and not what is.
MOST_BEHIND: Final = 10_000
_BROKERS_S: Final = 5.0


class WorkerSample(NamedTuple):
    """What a worker said in its metrics.

    Attributes:
        version: Version of Eddy that it runs.
        partitions: Figures by partition and the names of `BY_PARTITION`.
    """

    version: str | None
    partitions: Mapping[int, Mapping[str, float]]


#: A figure of a partition, by metric. A standby is of a partition that another worker processes.
BY_PARTITION: Final[Mapping[str, str]] = {
    "eddy_consumer_lag": "lag",
    "eddy_waiting_runs": "waiting",
    "eddy_settings_version": "settings",
    "eddy_shadow_settings_version": "shadow",
    "eddy_standby_lag_seconds": "standby_lag",
}


def metrics_of(text: str) -> WorkerSample:
    """Read what a worker exposes.

    Raises:
        ValueError: it is not the text format of Prometheus.

    >>> metrics_of('eddy_consumer_lag{topic="decision-logs",partition="3"} 17.0').partitions
    {3: {'lag': 17.0}}
    """
    version: str | None = None
    partitions: dict[int, dict[str, float]] = defaultdict(dict)
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if sample.name == "eddy_build_info":
                version = sample.labels.get("version")
            name, partition = BY_PARTITION.get(sample.name), sample.labels.get("partition", "")
            if name is None or not partition.isdecimal() or not _of_sessions(sample.labels.get("topic")):
                continue
            of_partition = partitions[int(partition)]
            of_partition[name] = max(sample.value, of_partition.get(name, sample.value))
    return WorkerSample(version, dict(partitions))


def _of_sessions(topic: str | None) -> bool:
    """Tell whether a figure is about the records of sessions: a worker reads what it aggregates, too."""
    return topic is None or topic.endswith(Topic.DECISION_LOGS)


class WorkerState(NamedTuple):
    """What a worker answered.

    Attributes:
        url: where it was asked.
        live: whether it says that it lives; None if it did not answer.
        ready: whether it says that it is ready; None if it did not answer.
        detail: what it says of that, or why it could not be asked.
        metrics: what its metrics say; None if it did not give them.
    """

    url: str
    live: bool | None = None
    ready: bool | None = None
    detail: str = ""
    metrics: WorkerSample | None = None


class SessionStanding(NamedTuple):
    """Where a session stands (`streams.core.policy.standing`), or why that is not known."""

    fields: Mapping[str, Any] | None = None
    missing: str = ""


class JobState(NamedTuple):
    """What workers and brokers said of a job at one moment.

    Attributes:
        at: When they were asked, ms since 1970.
        workers: What each named worker answered, silent ones included.
        lags: End minus committed offset of each partition, by the brokers; None in it where nothing is
            committed, None for all if the brokers did not tell.
        problem: Why the workers could not be asked, empty if they were.
        lag_problem: Why the brokers did not tell the lag, empty if they did.
    """

    at: int
    workers: tuple[WorkerState, ...]
    lags: Mapping[int, int | None] | None
    problem: str = ""
    lag_problem: str = ""

    @property
    def behind(self) -> int | None:
        """How many records are not processed, as far as that is known of any partition; else None."""
        known = [lag for lag in (self.lags or {}).values() if lag is not None]
        return sum(known) if known else None

    @property
    def is_whole(self) -> bool:
        """Whether `behind` counts every partition."""
        return self.lags is not None and None not in self.lags.values()


class JobPoll:
    """Asks the workers how they are and the brokers how far they have come, again and again.

    The lag is the brokers' word: a worker that hangs would go on saying what it said last.

    Args:
        brokers: Know the ends of the topic and what the group has committed.
        group: The consumer group of the job.
        named: The parts of EDDY_CONSOLE_WORKERS; no worker is asked if there are none.
        clock: Returns the time in milliseconds since 1970.
        token: What the workers ask for before they say where a session stands.
    """

    def __init__(
        self,
        brokers: Brokers,
        group: str,
        named: tuple[str, ...],
        clock: Callable[[], int],
        token: str | None = None,
    ) -> None:
        self._brokers, self._clock, self._token = brokers, clock, token
        self.group, self.named = group, named
        self.newest: JobState | None = None

    @property
    def trouble(self) -> str:
        """Why what workers write may be out of date, in a few words; empty where nothing says so."""
        state = self.newest
        if state is None:
            return ""
        answering = [each for each in state.workers if each.live is not None]
        if len(answering) < len(state.workers):
            return f"{len(answering)} of {count(len(state.workers), 'worker')} answer"
        behind = state.behind or 0
        return f"{count(behind, 'record')} behind" if behind > MOST_BEHIND else ""

    async def run(self) -> None:
        """Ask until cancelled."""
        while True:
            await self.look()
            await asyncio.sleep(_EVERY_S)

    async def look(self) -> JobState:
        """Ask once; those who do not answer within seconds are told as silent."""
        now = self._clock()
        (found, problem), (lags, lag_problem) = await asyncio.gather(self._workers(), self._lags())
        self.newest = JobState(now, found, lags, problem, lag_problem)
        return self.newest

    async def standing(self, session_id: str) -> SessionStanding:
        """Return where a session stands, by the worker that has it."""
        return await standing_of(self.named, session_id, self._token)

    async def _workers(self) -> tuple[tuple[WorkerState, ...], str]:
        try:
            return tuple(await workers(self.named)), ""
        except ConfigurationError as error:
            return (), str(error)

    async def _lags(self) -> tuple[Mapping[int, int | None] | None, str]:
        topic = self._brokers.topic(Topic.DECISION_LOGS)
        try:
            async with asyncio.timeout(_BROKERS_S):
                return await self._brokers.group_lag(self.group, topic), ""
        except TimeoutError:
            return None, f"The brokers have not answered for {_BROKERS_S:g} s."
        except EddyError as error:
            return None, str(error)


async def standing_of(named: Iterable[str], session_id: str, token: str | None) -> SessionStanding:
    """Ask every worker for a session; the one that has it answers.

    Args:
        named: The parts of EDDY_CONSOLE_WORKERS.
        session_id: Id of the session.
        token: The value of EDDY_WEB_TOKEN.
    """
    try:
        urls = await _all_urls(named)
    except ConfigurationError as error:
        return SessionStanding(missing=str(error))
    if not urls:
        return SessionStanding(missing="No worker is known: set EDDY_CONSOLE_WORKERS.")
    answered = await asyncio.gather(
        *(standing_at(url, session_id, token, _TIMEOUT) for url in urls), return_exceptions=True
    )
    why = ""
    for each in answered:
        match each:
            case ConfigurationError() | InfrastructureError():
                why = str(each)
            case BaseException():
                raise each
            case _:
                return SessionStanding(each)
    return SessionStanding(missing=why)


async def workers(named: Iterable[str]) -> list[WorkerState]:
    """Ask every worker, all at once; one that does not answer within two seconds is told as silent.

    Args:
        named: The parts of EDDY_CONSOLE_WORKERS: URLs, or dns:NAME:PORT for every address of a name.
    """
    urls = await _all_urls(named)
    async with aiohttp.ClientSession(timeout=_TIMEOUT) as session:
        return list(await asyncio.gather(*(_asked(session, url) for url in urls)))


async def _all_urls(named: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(url for part in await asyncio.gather(*map(_urls, named)) for url in part))


async def _urls(part: str) -> list[str]:
    if not part.startswith("dns:"):
        if urlsplit(part).scheme not in ("http", "https"):
            raise ConfigurationError(
                f"{part} in EDDY_CONSOLE_WORKERS is no URL. Write http://worker-1:8066, or dns:NAME:8066."
            )
        return [part.rstrip("/")]
    fields = part.split(":")
    if len(fields) != _DNS_PARTS or not fields[2].isdecimal():
        raise ConfigurationError(f"{part} in EDDY_CONSOLE_WORKERS is no name. Write dns:NAME:8066.")
    try:
        found = await asyncio.get_running_loop().getaddrinfo(
            fields[1], int(fields[2]), type=socket.SOCK_STREAM
        )
    except OSError:
        return [f"http://{fields[1]}:{fields[2]}"]
    addresses = sorted({str(address[0]) for *_, address in found})
    return [f"http://{f'[{each}]' if ':' in each else each}:{fields[2]}" for each in addresses]


async def _asked(session: aiohttp.ClientSession, url: str) -> WorkerState:
    try:
        (live, _), (ready, detail), (answers, text) = await asyncio.gather(
            *(_answer(session, f"{url}/{path}") for path in ("livez", "readyz", "metrics"))
        )
        metrics = metrics_of(text) if answers else None
    except (aiohttp.ClientError, TimeoutError, ValueError) as error:
        return WorkerState(url, detail=f"It does not answer ({type(error).__name__}).")
    return WorkerState(url, live, ready, _detail(detail)[:600], metrics)


def _detail(body: str) -> str:
    """Return what a probe says in words.

    >>> _detail('{"ok": true, "detail": "ready"}'), _detail("ok")
    ('ready', 'ok')
    """
    try:
        answered = orjson.loads(body)
    except orjson.JSONDecodeError:
        return body.strip()
    return str(answered.get("detail", "")) if isinstance(answered, dict) else body.strip()


async def _answer(session: aiohttp.ClientSession, url: str) -> tuple[bool, str]:
    async with session.get(url, allow_redirects=False) as answer:
        body = await answer.content.read(_LARGEST_ANSWER)
        while not answer.content.at_eof() and len(body) < _LARGEST_ANSWER:
            body += await answer.content.read(_LARGEST_ANSWER - len(body))
        return answer.status == 200, body.decode("utf-8", "replace")

"""Whether the worker lives, is ready, and what to do when it stands still.

A worker that has lag and makes no progress, or whose restore does not end, is worse than a dead one: nobody
notices. `/livez` tells, and the watchdog ends the process so that the orchestrator starts it again. While no
broker answers a restart would not help: the worker is not ready, and lives.
"""

from __future__ import annotations

import asyncio
import faulthandler
import logging
import os
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from streams.core.domain.text.figures import count
from streams.worker.app import RunApp

#: Exit status of a worker that ended itself (EX_SOFTWARE).
EXIT_STALLED = 70

_CHECK_SECONDS = 1.0

#: A transaction of others that is open for longer is worth a line; so is twice that time, and so on.
_PATIENCE_S = 10.0

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class HealthAnswer:
    """The answer of a health check: ``ok``, and why not."""

    ok: bool
    detail: str


@dataclass(frozen=True, slots=True)
class _Wait:
    """From when a partition waits for progress, and how many polls there had been by then."""

    at: float
    polls: int


TransactionOwner = Callable[[str, int], Awaitable[str | None]]


class BrokerHealth(Protocol):
    """Who knows whether brokers answer."""

    def silence(self) -> str | None:
        """Return that no broker answers and since when; None as long as one does."""


class Health:
    """Looks at the app; cheap enough to be asked every second.

    Args:
        app: The app that is looked at.
        brokers: Asked first: of what they do not answer nothing is known.
        owner: Returns whose open transaction a partition waits for.
        stall_timeout_s: Lag of a partition without progress for so long is a stall; so is a stop.
        restore_timeout_s: A rebalance with its restore may take so long.
    """

    def __init__(
        self,
        app: RunApp,
        brokers: BrokerHealth,
        owner: TransactionOwner,
        *,
        stall_timeout_s: float,
        restore_timeout_s: float,
    ) -> None:
        self._app = app
        self._brokers = brokers
        self._stall_timeout_s = stall_timeout_s
        self._restore_timeout_s = restore_timeout_s
        self._not_ready_since = time.monotonic()
        self._idle_at: dict[tuple[str, int], float] = {}
        self._waits_from: dict[tuple[str, int], _Wait] = {}
        self._transactions = OpenTransactions(owner)

    def ready(self) -> HealthAnswer:
        """Whether state is restored and records are being processed."""
        lease, waits_for = self._app.lease, self._waits_for()
        if not self._app.should_stop and (silence := self._brokers.silence()) is not None:
            return HealthAnswer(False, silence)
        if waits_for is not None:
            return HealthAnswer(False, waits_for)
        if not lease.held:
            return HealthAnswer(False, f"no heartbeat was answered for more than {lease.session_s:g} s")
        return HealthAnswer(True, "ready")

    def _waits_for(self) -> str | None:
        app = self._app
        if app.should_stop:
            return "stopping"
        if app.rebalancing or not app.tables.actives_ready:
            return "restoring state"
        return None if app.settings_ready.is_set() else "reading the settings"

    def live(self) -> HealthAnswer:
        """Whether the worker gets on; false means it should be restarted."""
        app, now = self._app, time.monotonic()
        if app.crashed:
            return HealthAnswer(False, f"crashed: {app.crash_reason!r}")
        silence = None if app.should_stop else self._brokers.silence()
        if silence is None and self._waits_for() is not None:
            limit = self._stall_timeout_s if app.should_stop else self._restore_timeout_s
            if now - self._not_ready_since > limit:
                return HealthAnswer(False, f"not ready for {now - self._not_ready_since:.0f} s")
            self._idle_at.clear()
            self._waits_from.clear()
            return HealthAnswer(True, "getting ready")
        self._not_ready_since = now
        if silence is not None:
            # Every wait begins again with the first answer.
            self._idle_at.clear()
            self._waits_from.clear()
            return HealthAnswer(True, f"{silence}: the lag is not known")
        return self._progress(now)

    def _progress(self, now: float) -> HealthAnswer:
        """Look at each partition by itself: one that stands still must not hide behind the others."""
        app = self._app
        lags, held = app.lags(), app.held_back()
        waits_for_others = self._transactions.noted(held, now)
        for partition in self._idle_at.keys() - lags.keys():  # not known for a while: its wait begins again
            del self._idle_at[partition]
            self._waits_from.pop(partition, None)
        for partition, lag in lags.items():
            if lag == 0 or partition in held or partition not in self._idle_at:
                self._idle_at[partition] = now
            at = max(app.progress_at.get(partition, 0.0), self._idle_at[partition])
            if (wait := self._waits_from.get(partition)) is None or wait.at != at:
                wait = self._waits_from[partition] = _Wait(at, app.polled()[0])
            since = now - at
            if since > self._stall_timeout_s and not self._has_its_turn_to_come(partition, wait, now):
                topic, number = partition
                return HealthAnswer(
                    False,
                    f"{topic}[{number}] has {count(lag, 'record')} of lag and no progress for {since:.0f} s",
                )
        assigned = app.source_partitions()
        unknown = len(assigned - lags.keys())
        besides = f"; not known of {unknown} of {len(assigned)} partitions" if unknown else ""
        return HealthAnswer(True, f"{count(sum(lags.values()), 'record')} of lag{besides}{waits_for_others}")

    def _has_its_turn_to_come(self, partition: tuple[str, int], wait: _Wait, now: float) -> bool:
        """Tell whether a partition only waits until the others' records of one poll are delivered.

        A worker that is far too slow takes long for that, and gets on. The poll after it has to bring the
        partition's records, and delivery must not stand still.
        """
        polls, delivered_at = self._app.polled()
        return (
            self._app.is_left_out(partition)
            and polls - wait.polls <= 1
            and now - delivered_at <= self._stall_timeout_s
        )


class OpenTransactions:
    """Says which partitions wait for a transaction of another producer, and for how long.

    No restart helps: whoever reads committed records only waits, until the producer ends its transaction or
    the brokers do so after its `transaction.timeout.ms`.

    Args:
        owner: Returns whose transaction it is, None if the brokers do not say.
    """

    def __init__(self, owner: TransactionOwner) -> None:
        self._owner = owner
        self._since: dict[tuple[str, int], float] = {}
        self._said: dict[tuple[str, int], float] = {}
        self._asking: set[asyncio.Task[None]] = set()

    def noted(self, held: Mapping[tuple[str, int], int], now: float) -> str:
        """Log what waits for long, and what no longer does; return it for the answer of a health check.

        Args:
            held: Records that wait, by partition.
            now: Time of the call, in seconds, monotonic.
        """
        for partition in self._since.keys() - held.keys():
            waited = now - self._since.pop(partition)
            if self._said.pop(partition, None) is not None:
                log.info("%s[%d] waited %.0f s for a transaction; it is over.", *partition, waited)
        words = []
        for partition, records in sorted(held.items()):
            waited = now - self._since.setdefault(partition, now)
            topic, number = partition
            words.append(f"{topic}[{number}]: {count(records, 'record')} for {waited:.0f} s")
            if waited >= max(_PATIENCE_S, 2 * self._said.get(partition, 0.0)):
                self._said[partition] = waited
                asking = asyncio.get_running_loop().create_task(self._warn(topic, number, waited, records))
                self._asking.add(asking)
                asking.add_done_callback(self._asking.discard)
        return f"; wait for an open transaction of another producer: {', '.join(words)}" if words else ""

    async def _warn(self, topic: str, number: int, waited: float, records: int) -> None:
        whose = await self._owner(topic, number) or "another producer"
        log.warning(
            "%s[%d] waits for %s, which has left a transaction open for %.0f s: %s after it cannot be read. "
            "The other partitions go on. End that producer, or wait: the brokers end its transaction after "
            "its transaction.timeout.ms.",
            topic,
            number,
            whose,
            waited,
            count(records, "record"),
        )


class Watchdog:
    """A thread that ends a process which stands still: also when its event loop does.

    Args:
        health: Asked every second, in the event loop's thread through ``beat``.
        stall_timeout_s: A loop that does not beat for so long is stuck.
    """

    def __init__(self, health: Health, *, stall_timeout_s: float) -> None:
        self._health = health
        self._stall_timeout_s = stall_timeout_s
        self._beat_at = time.monotonic()
        self._dead_since: float | None = None
        self._why = ""
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="watchdog", daemon=True)

    def start(self) -> None:
        """Begin to watch."""
        self._thread.start()

    def stop(self) -> None:
        """End the watch."""
        self._stop.set()

    def beat(self) -> None:
        """Tell that the event loop turns; call it every second."""
        now = self._beat_at = time.monotonic()
        answer = self._health.live()
        if answer.ok:
            self._dead_since = None
        elif self._dead_since is None:
            self._dead_since, self._why = now, answer.detail
            log.critical("The worker is about to end itself: %s.", answer.detail)

    def _watch(self) -> None:
        # A crashed app gets the stall timeout to shut down in order; a stalled one has had it already.
        while not self._stop.wait(_CHECK_SECONDS):
            now = time.monotonic()
            silent_s = now - self._beat_at
            stuck = silent_s > self._stall_timeout_s
            dead = self._dead_since is not None and now - self._dead_since > min(30.0, self._stall_timeout_s)
            if stuck or dead:
                faulthandler.dump_traceback(file=sys.stderr)
                why = self._why if dead else f"its event loop has stood still for {silent_s:.0f} s"
                sys.stderr.write(
                    f"eddy: The worker has ended itself: {why}. Where it stood is above. Start it again: it "
                    "continues from what was committed. If that happens often, look at the brokers and at "
                    "the load of the machine.\n"
                )
                sys.stderr.flush()
                os._exit(EXIT_STALLED)


def status(answer: HealthAnswer) -> tuple[int, dict[str, Any]]:
    """Return the HTTP status and body of an answer."""
    return (200 if answer.ok else 503), {"ok": answer.ok, "detail": answer.detail}

"""Runs housekeeping in a worker: every second a little, while the worker is in charge of its partitions."""

from __future__ import annotations

import logging
import time
from abc import abstractmethod
from collections.abc import Collection
from contextlib import AbstractAsyncContextManager
from typing import NamedTuple

from faust.types import TP
from mode import Service

from streams.core.errors import DamagedStateError, ProducerFencedError
from streams.worker.faust.job_app import JobApp
from streams.worker.lanes import Lanes
from streams.worker.lifetime.housekeeping import Housekeeping
from streams.worker.state.checkpoint import passed

log = logging.getLogger(__name__)


class PeriodicRounds(Service):
    """Calls `tick` again and again; an error in it stops the worker.

    Args:
        app: The Faust app that an error stops.
        tick_s: Between two ticks, seconds.
        late_s: A tick that comes so much later than it should belongs to a worker that was suspended, and may
            have been taken for dead. It does nothing, so that the group can tell it first.
    """

    def __init__(self, app: JobApp, *, tick_s: float, late_s: float) -> None:
        self._app = app
        self._tick_s = tick_s
        self._late_s = late_s
        super().__init__()

    @abstractmethod
    async def tick(self, elapsed_s: float) -> None:
        """Do what is due, so long after the last tick."""

    @Service.task
    async def _go_round(self) -> None:
        before = time.monotonic()
        while not self.should_stop:
            await self.sleep(self._tick_s)
            now = time.monotonic()
            elapsed_s, before = now - before, now
            if self._app.should_stop or elapsed_s > self._tick_s + self._late_s:
                continue
            try:
                await self.tick(elapsed_s)
            except ProducerFencedError:
                log.info("Another worker owns a partition: what is due there waits for the next assignment.")
            except DamagedStateError as error:
                self._app.restore_again(error)
            except Exception as error:  # noqa: BLE001 - whatever it is, nothing may go on as if it was not
                await self._app.crash(error)
                return


_TICK_S = 1.0


class _End(NamedTuple):
    """Where a partition ended, and when a broker said so, by `boot_time`."""

    offset: int
    at_s: float


class OwnedPartitions:
    """What a worker knows of the partitions it has.

    Args:
        app: The Faust app that the partitions are assigned to.
        topic: The source whose partitions they are.
        lanes: The lanes of the runs of that topic.
    """

    def __init__(self, app: JobApp, topic: str, lanes: Lanes) -> None:
        self.topic = topic
        self._app = app
        self._lanes = lanes
        self._generation = -1
        self._reaches: dict[int, _End] = {}
        self._reached: dict[int, float] = {}

    def in_charge(self) -> tuple[int, Collection[int]]:
        """Return the generation, and no partition while state is restored, taken away or not yet judged.

        Nor while the group may take this worker for dead.
        """
        app = self._app
        generation = app.consumer_generation_id
        if (
            app.should_stop
            or app.rebalancing
            or not app.tables.actives_ready
            or not app.settings_ready.is_set()
            or not app.run_consumer.flow_active
            or not app.lease.held
        ):
            return generation, ()
        return generation, [tp.partition for tp in app.run_consumer.assignment() if tp.topic == self.topic]

    def read_up_to(self, partition: int) -> int:
        """Return a time, ms: all that the partition held then is processed by now. 0 when none is known.

        A busy partition has records on their way at any moment. Where it ended at one is kept until that is
        processed.
        """
        generation = self._app.consumer_generation_id
        if generation != self._generation:
            self._generation = generation
            self._reaches.clear()
            self._reached.clear()
        consumer, tp = self._app.run_consumer, TP(self.topic, partition)
        # The time first: the consumer's thread may hear of more records at any moment.
        heard_at, end, lag = consumer.heard_at(tp), consumer.end(tp), consumer.lag(tp)
        if end is not None and lag is not None and heard_at is not None:
            for reaches in (self._reaches.setdefault(partition, _End(end, heard_at)), _End(end, heard_at)):
                if end - lag >= reaches.offset:
                    self._reached[partition] = reaches.at_s
                    self._reaches[partition] = _End(end, heard_at)
        reached = self._reached.get(partition)
        return 0 if reached is None else self._app.clock.at_ms(reached)

    def heard_ms(self, partition: int) -> int:
        """Return when a broker answered about the partition last, ms; 0 when none has."""
        heard_at = self._app.run_consumer.heard_at(TP(self.topic, partition))
        return 0 if heard_at is None else self._app.clock.at_ms(heard_at)

    def has_read_all(self, partition: int) -> bool:
        """Tell whether everything that the partition is known to hold is processed."""
        tp = TP(self.topic, partition)
        return self._app.run_consumer.lag(tp) == 0 and self._app.run_consumer.is_current(tp)

    def passed(self, partition: int) -> int:
        """Return the offset below which no record is read again; -1 when that is not known."""
        tp = TP(self.topic, partition)
        below = passed(self._app.run_consumer.committed(tp), self._app.read_again_from(tp))
        return -1 if below is None else below

    def alone(self, partition: int) -> AbstractAsyncContextManager[None]:
        """Keep the partition's runs waiting for as long as the block lasts."""
        return self._lanes.between_runs(partition)


class Housekeeper(PeriodicRounds):
    """Runs housekeeping every second.

    Args:
        app: The Faust app that an error stops.
        interval_s: The interval of the searches; ticks are not further apart than that.
        late_s: As `PeriodicRounds` takes it.
    """

    def __init__(self, app: JobApp, *, interval_s: float, late_s: float) -> None:
        super().__init__(app, tick_s=min(_TICK_S, interval_s), late_s=late_s)
        #: Made when the worker starts.
        self.housekeeping: Housekeeping | None = None

    async def tick(self, elapsed_s: float) -> None:
        """Keep house."""
        if self.housekeeping is not None:
            await self.housekeeping.tick(elapsed_s)


def housekeeper(app: JobApp) -> Housekeeper | None:
    """Return the housekeeper of a worker, None where the options switch housekeeping off."""
    interval_s = app.options.housekeeping_interval_s
    if interval_s <= 0:
        return None
    return Housekeeper(app, interval_s=interval_s, late_s=app.options.session_timeout_s / 2)

"""What the engine reports about its work, all in one: each part asks for its own share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from streams.worker.aggregates_epoch import AggregatesMetrics
from streams.worker.epoch import EpochMetrics
from streams.worker.lifetime.housekeeping import HousekeepingMetrics
from streams.worker.state.standby import StandbyMetrics
from streams.worker.traces_epoch import BridgeMetrics


class EngineMetrics(StandbyMetrics, Protocol):
    """What the engine reports whatever the epochs do."""

    def lost(self, topic: str, partition: int, records: int) -> None:
        """Count records that were deleted before they were read."""

    def redated(self, topic: str, records: int) -> None:
        """Count records that get another Kafka timestamp."""

    def restored(self, table: str, records: int, seconds: float) -> None:
        """Note a finished restore of a table."""

    def set_aside(self, table: str) -> None:
        """Count a damaged database that was set aside."""


class JobMetrics(EngineMetrics, EpochMetrics, AggregatesMetrics, HousekeepingMetrics, Protocol):
    """What the app of the job reports."""

    def told_silent(self, events: Mapping[str, int]) -> None:
        """Count what was told of silent sessions, by type."""


class BridgeEngineMetrics(EngineMetrics, BridgeMetrics, Protocol):
    """What the app of the bridge reports."""

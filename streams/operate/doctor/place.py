"""Whether a group keeps its place on the input for as long as it matters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from streams.core.detectors.settings import DetectionSettings
from streams.core.domain.topic import Topic
from streams.core.policy.state_limits import keeps_ms
from streams.kafka.survey import GroupOffsets
from streams.operate.doctor.check import Check, ok, warn
from streams.operate.doctor.state import Database, span
from streams.worker.options import SESSIONS
from streams.worker.state.store import StoreInspection

#: How long brokers keep the offsets of a group without members, and a topic its records.
OFFSETS_RETENTION, RECORDS_RETENTION = "offsets.retention.minutes", "retention.ms"

_NAME = "offsets"


def retention_checks(
    offsets_minutes: str | None,
    records_ms: str | None,
    settings: DetectionSettings,
    decision_logs: str = Topic.DECISION_LOGS,
) -> Iterator[Check]:
    """Yield whether a group that was away for so long that its offsets are gone would score records again.

    It reads the topic from its first record on, then. What the state knows is skipped; what is left are the
    records of sessions whose state was removed while workers still ran. There are none if the topic does not
    keep records for longer than the brokers keep offsets.

    Args:
        offsets_minutes: the brokers' setting; None where they do not report it.
        records_ms: that of the input; -1 is for ever.
        settings: the detection settings in force.
        decision_logs: what the input is called.
    """
    if offsets_minutes is None or records_ms is None:
        yield ok(_NAME, f"these brokers do not report their {OFFSETS_RETENTION}")
        return
    offsets_s, records_s = 60 * int(offsets_minutes), int(records_ms) / 1000
    kept = f"brokers keep the offsets of a group without workers for {span(offsets_s)}"
    if 0 <= records_s <= offsets_s:
        yield ok(_NAME, f"{kept}, {decision_logs} keeps records no longer")
        return
    keeps = keeps_ms(settings)
    gone = "that have ended" if keeps is None else f"that have ended, or were silent for {span(keeps / 1000)}"
    records = "for ever" if records_s < 0 else f"for {span(records_s)}"
    need = "as long as workers may be away" if records_s < 0 else f"{-(-int(records_s) // 60)}"
    yield warn(
        _NAME,
        f"{kept}, {decision_logs} keeps records {records}: after a longer pause of all workers it is "
        f"read from its beginning, and records of sessions {gone} before that are scored again, under the "
        "same ids",
        f"Raise {OFFSETS_RETENTION} of the brokers to {need}, lower {RECORDS_RETENTION} of "
        f"{decision_logs}, or do not let all workers be away for so long.",
    )


def lost_place_checks(
    name: str, group: GroupOffsets, databases: Iterable[Database], decision_logs: str = Topic.DECISION_LOGS
) -> Iterator[Check]:
    """Yield whether there is state of partitions whose offset the brokers have forgotten."""
    if group.members != 0:
        return  # a worker is about to commit one, or the brokers do not report it
    without = sorted(
        database.partition
        for database in databases
        if database.table == SESSIONS
        and isinstance(database.found, StoreInspection)
        and database.found.offset is not None
        and (decision_logs, database.partition) not in group.committed
    )
    if without:
        yield warn(
            "group",
            f"{name} has state of {decision_logs}[{', '.join(map(str, without))}], and no committed "
            "offset there",
            "A worker reads these from their first record on: sessions it still knows skip what they have "
            "counted, those that ended or expired are scored again, under the same ids. Where that must not "
            "be, set the offsets with kafka-consumer-groups.sh --reset-offsets before a worker starts.",
        )

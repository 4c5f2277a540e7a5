"""What the views across sessions must be: the sum of all contributions; and how what there is differs.

Exchanges are no sum, nor is who was told to overspend: what counts is the order in which contributions
arrived, and that one stands in the repartition topic. So they are what comes of these, one at a time.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

import orjson

from streams.core.domain.aggregates.agent_health import AgentHealth
from streams.core.domain.aggregates.contribution import Contribution
from streams.core.domain.aggregates.exchange import Handed
from streams.core.domain.aggregates.task_profile import Outlay
from streams.core.domain.event_kind import EventKind
from streams.core.domain.record import Outgoing
from streams.core.domain.run import Run
from streams.core.domain.topic import Topic
from streams.core.policy.spending import Measure
from streams.kafka.client import Stored
from streams.worker.aggregation import Aggregate, Aggregation, RunContribution, encode_aggregate, parts
from streams.worker.effects import key_partition
from streams.worker.state.origin import SOURCES_KEY
from tests.integration.reference_fold import Expected, Verdict, Written, by_partition, value_of, written_as

_ORDERED = (b"x", b"t")
"""How the names of exchanges and of types of tasks begin."""


def is_across_sessions(alert: Stored) -> bool:
    """Tell whether a record of `session-alerts` was written by a view across sessions, not by a session."""
    value = value_of(alert)
    kind, rule = value["event_type"], value.get("rule")
    return kind == EventKind.HANDOVER_LOOP or (kind == EventKind.OVERSPENDING and rule == Measure.KIND)


class _Aggregates(dict[str, Aggregate]):
    def put(self, value: Aggregate, name: str) -> None:
        self[name] = value


def judge_aggregates(
    verdict: Verdict,
    expected: Expected,
    aggregation: Aggregation,
    *,
    repartition: Sequence[Stored],
    changelog: Iterable[Stored],
    published: Mapping[str, Sequence[Stored]],
    alerts: Sequence[Stored],
    partitions: Mapping[str, int],
) -> None:
    """Compare the views across sessions with what the contributions of all records add up to.

    Args:
        verdict: Added to.
        expected: What there must be.
        aggregation: Adds up, and encodes.
        repartition: All of the repartition topic.
        changelog: All of the aggregates' changelog.
        published: All of `agent-health` and `task-profiles`.
        alerts: All of `session-alerts` for which `is_across_sessions` holds.
        partitions: How many each of these topics has, by its name in `Topic`.
    """
    between = partitions[Topic.REPARTITION]
    _judge_contributions(verdict, expected.contributions, repartition, between)
    sent = [
        Stored(0, offset, record.timestamp, record.key, record.value, ())
        for offset, record in enumerate(expected.contributions)
    ]
    aggregates = _Aggregates()
    summed = [part for part in parts(Run("all", 0, sent)) if not isinstance(part.adds, Handed | Outlay)]
    aggregation.fold(summed, aggregates)
    wanted = {
        name.encode(): encode_aggregate(aggregate)
        for name, aggregate in aggregates.items()
        if not name.encode().startswith(_ORDERED)
    }
    stored_last = {
        (stored.partition, stored.key): stored for stored in changelog if stored.key != SOURCES_KEY
    }
    ordered = {
        place: stored for place, stored in stored_last.items() if (place[1] or b"").startswith(_ORDERED)
    }
    _judge_ordered(verdict, aggregation, repartition, ordered, alerts)
    found = {stored.key: stored for place, stored in stored_last.items() if place not in ordered}
    verdict.blame("aggregates are missing", sorted(wanted.keys() - found.keys()))
    verdict.blame("aggregates of nobody", sorted(found.keys() - wanted.keys(), key=str))
    verdict.blame(
        "aggregates are wrong",
        [
            f"{key!r}: {found[key].value!r}, not {value!r}"
            for key, value in wanted.items()
            if key in found and found[key].value != value
        ],
    )
    verdict.blame(
        "aggregates are in the wrong partition",
        [key for key in wanted if key in found and _astray(key[1:], found[key], between)],
    )
    for topic, records in published.items():
        astray = [stored for stored in records if _astray(stored.key, stored, partitions[topic])]
        verdict.blame(f"{topic}: in the wrong partition", astray)
        last = {stored.key: value_of(stored) for stored in records}
        reports = {
            name[1:].encode(): aggregate.report(name[1:])
            for name, aggregate in aggregates.items()
            if (topic == Topic.AGENT_HEALTH) is isinstance(aggregate, AgentHealth)
        }
        verdict.blame(
            f"{topic}: the newest are other ones",
            [
                f"{key!r}: {last.get(key)}, not {reports.get(key)}"
                for key in {**reports, **last}
                if last.get(key) != reports.get(key)
            ],
        )


def _judge_contributions(
    verdict: Verdict, wanted: Sequence[Outgoing], found: Sequence[Stored], partitions: int
) -> None:
    """Each contribution stands where its key says, and the first of each in the order of its source."""
    seen = Counter((stored.key, stored.value, stored.timestamp) for stored in found)
    known = Counter((record.key, record.value, record.timestamp) for record in wanted)
    verdict.blame("contributions: come about twice", [each for each, n in known.items() if n > 1])
    verdict.blame("contributions: lost", list(known.keys() - seen.keys()))
    verdict.blame("contributions: from nowhere", list(seen.keys() - known.keys()))
    astray = [stored for stored in found if _astray(stored.key, stored, partitions)]
    verdict.blame("contributions: in the wrong partition", astray)
    verdict.repeated["contributions"] += sum(n - 1 for n in seen.values())
    orders: list[dict[tuple[bytes | None, int], dict[bytes | None, None]]] = []
    for records in (wanted, by_partition(found)):
        order: dict[tuple[bytes | None, int], dict[bytes | None, None]] = defaultdict(dict)
        for record in records:
            source = orjson.loads(record.value or b"")[2]
            order[record.key, source].setdefault(record.value)
        orders.append(order)
    swapped = []
    for each, right in orders[0].items():
        came = orders[1].get(each, {})
        if [value for value in came if value in right] != [value for value in right if value in came]:
            swapped.append(each)
    verdict.blame("contributions: out of order", swapped)


def _judge_ordered(
    verdict: Verdict,
    aggregation: Aggregation,
    repartition: Sequence[Stored],
    found: Mapping[tuple[int, bytes], Stored],
    alerts: Sequence[Stored],
) -> None:
    """What depends on order, and the alerts, are what comes of the contributions in theirs."""
    by_place: dict[int, list[RunContribution]] = defaultdict(list)
    for stored in by_partition(repartition):
        [part] = parts(Run("all", stored.partition, [stored]))
        if not isinstance(part.adds, Contribution):
            by_place[stored.partition].append(part)
    wanted: dict[tuple[int, bytes], bytes] = {}
    due: Counter[Written] = Counter()
    for partition, added in by_place.items():
        views = _Aggregates()
        tallied = aggregation.fold(added, views)
        wanted |= {(partition, name.encode()): encode_aggregate(value) for name, value in views.items()}
        for at, told in tallied.alerts.items():
            due.update((at, alert.key, alert.value, alert.timestamp, tuple(alert.headers)) for alert in told)
    verdict.blame(
        "views that depend on order are wrong",
        [
            f"{place}: {found[place].value if place in found else None!r}, not {wanted.get(place)!r}"
            for place in sorted({*wanted, *found})
            if place not in found or found[place].value != wanted.get(place)
        ],
    )
    seen = Counter(map(written_as, alerts))
    verdict.blame("alerts across sessions: lost", [each for each in due if seen[each] < due[each]])
    verdict.blame("alerts across sessions: from nowhere", [each for each in seen if each not in due])
    verdict.repeated["alerts across sessions"] += sum(max(0, n - due[each]) for each, n in seen.items())


def _astray(key: bytes | None, stored: Stored, partitions: int) -> bool:
    return stored.partition != key_partition(key, partitions)

"""How an agent, or a tool, fares in all sessions together: counts over an hour and a day of event time.

Everything in it is a sum of what records contributed, or a maximum, so that the order in which the partitions
of the input are read does not matter: the same records give the same counts.

Time is cut into buckets of five minutes, and for the day into hours. The sliding hour is the newest bucket
and the eleven before it, the sliding day the newest hour and the twenty-three before it. They slide with the
greatest event time seen of the agent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import starmap
from typing import Any, NamedTuple

from streams.core.domain.aggregates.contribution import (
    BUCKET_MS,
    SERIES,
    Chains,
    Contribution,
    Counts,
    subject,
)

FORMAT = 1

#: Buckets of the sliding hour, and hours of the sliding day.
HOUR, DAY = 12, 24

#: Signatures counted per bucket. If there are more, those with the smallest digests: a sample, the same in
#: every bucket and whatever the order.
MOST_SIGNATURES = 64

#: Signatures reported.
MOST_CHAINS = 20

# A bucket counts no further, so that the sum of a day of them fits in 64 bits.
_MOST = 2**53
_COST_UNITS = 10_000
_DAILY = ("sessions", "episodes", "tokens", "cost")
_NO_COUNTS: Counts = {}
_NO_CHAINS: Chains = {}


class AgentHealth(NamedTuple):
    """The counts about one agent or tool: immutable, of bounded size.

    Attributes:
        latest: greatest event time seen, ms.
        positions: of each source, a partition of the input or the removals there (`expiry_source`), the
            greatest offset counted. Nothing at or below it counts again.
        hour: of each series, by bucket.
        day: of each series but ``looping``, by hour.
        chains: sessions that loop, by bucket and signature. A signature stays in its bucket with a count of
            zero, or the sample would depend on the order.
    """

    latest: int = 0
    positions: Mapping[int, int] = {}
    hour: Counts = _NO_COUNTS
    day: Counts = _NO_COUNTS
    chains: Chains = _NO_CHAINS

    def plus(self, contribution: Contribution) -> AgentHealth:
        """Return the counts with what one record adds; the same when it has been counted.

        >>> seen = AgentHealth().plus(Contribution("planner", 0, 7, 900_000, {"sessions": {3: 1}}, {}))
        >>> seen.plus(Contribution("planner", 0, 7, 900_000, {"sessions": {3: 1}}, {})) is seen
        True
        >>> seen.report("planner")["sessions_hour"]
        1
        """
        if contribution.offset <= self.positions.get(contribution.partition, -1):
            return self
        positions = {**self.positions, contribution.partition: contribution.offset}
        latest = max(self.latest, contribution.at)
        newest = latest // BUCKET_MS
        slid = newest != self.latest // BUCKET_MS
        counts = contribution.counts
        hour = _summed(self.hour, counts, newest - HOUR, slid)
        by_hour = {series: _by_hour(counts[series]) for series in _DAILY if series in counts}
        day = _summed(self.day, by_hour, newest // HOUR - DAY, slid)
        chains = _chained(self.chains, contribution.chains, newest - HOUR, slid)
        return AgentHealth(latest, positions, hour, day, chains)

    def report(self, key: str) -> dict[str, Any]:
        """Return what `agent-health` reports about the agent or tool with this key."""
        scope, name = subject(key)
        hour = {series: _total(self.hour, series) for series in SERIES}
        day = {series: _total(self.day, series) for series in _DAILY}
        return {
            "scope": scope,
            "name": name,
            "as_of": self.latest,
            "sessions_hour": hour["sessions"],
            "sessions_day": day["sessions"],
            "looping_now": hour["looping"],
            "episodes_hour": hour["episodes"],
            "episodes_day": day["episodes"],
            "wasted_tokens_hour": hour["tokens"],
            "wasted_tokens_day": day["tokens"],
            "wasted_cost_hour": hour["cost"] / _COST_UNITS,
            "wasted_cost_day": day["cost"] / _COST_UNITS,
            "cross_chains": self._cross_chains(),
        }

    def _cross_chains(self) -> list[dict[str, Any]]:
        """The signatures that loop in several sessions at once, most sessions first."""
        sessions: dict[str, int] = {}
        for signatures in self.chains.values():
            for signature, n in signatures.items():
                sessions[signature] = sessions.get(signature, 0) + n
        several = sorted((-n, signature) for signature, n in sessions.items() if n > 1)
        return [{"signature": signature, "sessions": -n} for n, signature in several[:MOST_CHAINS]]

    def snapshot(self) -> list[Any]:
        """Return the counts as a JSON-able list; equal counts give equal lists."""
        return [
            FORMAT,
            self.latest,
            _pairs(self.positions),
            [[series, _pairs(self.hour[series])] for series in sorted(self.hour)],
            [[series, _pairs(self.day[series])] for series in sorted(self.day)],
            [[bucket, _pairs(self.chains[bucket])] for bucket in sorted(self.chains)],
        ]

    @classmethod
    def restore(cls, snapshot: Sequence[Any]) -> AgentHealth:
        """Read back what `snapshot` wrote.

        Raises:
            ValueError: the snapshot is of another format version, or is not a snapshot.
        """
        match snapshot:
            case [1, int(latest), positions, hour, day, chains]:
                return cls(latest, dict(positions), *(_mapping(each) for each in (hour, day, chains)))
            case [int(version), *_] if version != FORMAT:
                raise ValueError(f"health has format version {version}, this program reads version {FORMAT}")
            case _:
                raise ValueError("not the snapshot of an agent's health")


def _by_hour(buckets: dict[int, int]) -> dict[int, int]:
    hours: dict[int, int] = {}
    for bucket, n in buckets.items():
        hours[bucket // HOUR] = hours.get(bucket // HOUR, 0) + n
    return hours


def _summed(counts: Counts, added: Counts, gone: int, slid: bool) -> Counts:
    """Return the sum of two sets of counts without zeros, and without the buckets up to ``gone``.

    Those are only looked for when the window ``slid``, or in what is added.
    """
    summed = dict(counts)
    for series, buckets in added.items():
        summed[series] = merged = dict(summed.get(series, {}))
        for bucket, n in buckets.items():
            if bucket > gone:
                merged[bucket] = min(merged.get(bucket, 0) + n, _MOST)
    for series in list(summed) if slid else added:
        kept = {bucket: n for bucket, n in summed[series].items() if bucket > gone and n}
        if kept:
            summed[series] = kept
        else:
            del summed[series]
    return summed


def _chained(chains: Chains, added: Chains, gone: int, slid: bool) -> Chains:
    """Return the sum of two sets of signatures, without the buckets up to ``gone``.

    A signature that once made room for others never comes back: the greatest digest of a full bucket only
    falls. So what is kept in the end was there from its first mention on, in whatever order that came.
    """
    if not (added or slid):
        return chains
    summed = {bucket: signatures for bucket, signatures in chains.items() if bucket > gone}
    for bucket, signatures in added.items():
        if bucket <= gone:
            continue
        kept = dict(summed.get(bucket, {}))
        for signature, n in signatures.items():
            kept[signature] = kept.get(signature, 0) + n
        if len(kept) > MOST_SIGNATURES:
            kept = {signature: kept[signature] for signature in sorted(kept)[:MOST_SIGNATURES]}
        summed[bucket] = kept
    return summed


def _total(counts: Counts, series: str) -> int:
    # A session that moved to another partition of the input may be subtracted before it is added.
    return max(0, sum(counts.get(series, {}).values()))


def _pairs(counts: Mapping[Any, int]) -> list[tuple[Any, int]]:
    return sorted(counts.items())


def _mapping(stored: Sequence[Any]) -> dict[Any, dict[Any, int]]:
    return dict(starmap(lambda name, pairs: (name, dict(pairs)), stored))

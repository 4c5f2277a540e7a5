"""What one record of a session adds to the counts about its agent and its tools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

#: Width of the buckets time is counted in, ms.
BUCKET_MS = 300_000

#: What is counted per bucket. Cost is in ten-thousandths, so that sums are exact.
SERIES = ("sessions", "looping", "episodes", "tokens", "cost")

Counts = dict[str, dict[int, int]]
"""The counts of each series, by bucket."""
Chains = dict[int, dict[str, int]]
"""Sessions that loop, by bucket and signature."""

#: Added to the partition of the input where a session was removed, not a record read, see `expiry_source`.
_EXPIRY = 1 << 32

_TOOL, _AGENT = "tool/", "agent/"
_LARGEST, _LARGEST_LONG = 2**53, 2**63 - 1


def agent_key(agent_id: str) -> str:
    """Return the key of the counts about an agent: its id, so that a reader who knows the agent finds them.

    An id that looks like one of the other keys is marked, so no two subjects have one key.

    >>> agent_key("planner"), agent_key("tool/shell"), agent_key("agent/7")
    ('planner', 'agent/tool/shell', 'agent/agent/7')
    """
    return _AGENT + agent_id if agent_id.startswith((_TOOL, _AGENT)) else agent_id


def tool_key(name: str) -> str:
    """Return the key of the counts about a tool.

    >>> tool_key("shell")
    'tool/shell'
    """
    return _TOOL + name


def is_tool(key: str) -> bool:
    """Tell whether a key is a tool's.

    >>> is_tool(tool_key("shell")), is_tool(agent_key("tool/shell"))
    (True, False)
    """
    return key.startswith(_TOOL)


def is_whole(number: object) -> bool:
    """Tell whether something read is an integer that every sum of such can be written with.

    >>> is_whole(900_000), is_whole(2**63), is_whole(0.5), is_whole(True)
    (True, False, False, False)
    """
    return type(number) is int and -_LARGEST <= number <= _LARGEST


def is_place(number: object) -> bool:
    """Tell whether something read can say where a record stands, or when: both are as large as they come.

    >>> is_place(2**63 - 1), is_place(2**63), is_place(-1), is_place(True)
    (True, False, False, False)
    """
    return type(number) is int and 0 <= number <= _LARGEST_LONG


def expiry_source(partition: int) -> int:
    """Return the source of what sessions contribute when they are removed, beside that of their records.

    Aggregates do not count again what stands at or below a place they have counted of its source. A session
    is removed long after the records that came behind its last one, so the removals are a source of their
    own, in which the place of a removal is the offset of that last record.

    >>> expiry_source(3)
    4294967299
    """
    return partition + _EXPIRY


def subject(key: str) -> tuple[str, str]:
    """Return scope and name of what a key stands for.

    >>> subject("planner"), subject("agent/tool/shell"), subject("tool/shell")
    (('agent', 'planner'), ('agent', 'tool/shell'), ('tool', 'shell'))
    """
    if is_tool(key):
        return "tool", key[len(_TOOL) :]
    return "agent", key.removeprefix(_AGENT)


class Contribution(NamedTuple):
    """What one record adds to one aggregate. There is at most one of each record for each key.

    Attributes:
        key: key of the aggregate, by `agent_key` or `tool_key`.
        partition, offset: of the record; when a session is removed, its `expiry_source` and its last record.
        at: event time, ms since 1970: the greatest of the session so far.
        counts: what is added to which bucket; a session that moves on takes itself out of its old one.
        chains: the same for the signatures that loop.
    """

    key: str
    partition: int
    offset: int
    at: int
    counts: Counts
    chains: Chains

    def snapshot(self) -> list[Any]:
        """Return it as a JSON-able list, without the key.

        >>> Contribution("planner", 3, 17, 900_000, {"sessions": {3: 1}}, {3: {"ab": 1}}).snapshot()
        [3, 17, 900000, [['sessions', 3, 1]], [[3, 'ab', 1]]]
        """
        counts = [[name, bucket, n] for name, buckets in self.counts.items() for bucket, n in buckets.items()]
        chains = [
            [bucket, signature, n]
            for bucket, signatures in self.chains.items()
            for signature, n in signatures.items()
        ]
        return [self.partition, self.offset, self.at, counts, chains]

    @classmethod
    def restore(cls, key: str, snapshot: Sequence[Any]) -> Contribution:
        """Read back what `snapshot` wrote.

        Raises:
            ValueError, TypeError: it is not a contribution.
        """
        partition, offset, at, counted, chained = snapshot
        if not (is_place(partition) and is_place(offset) and is_place(at)):
            raise ValueError("a place or a time is no integer")
        counts: Counts = {}
        for name, bucket, n in counted:
            if name not in SERIES:
                raise ValueError(f"nothing is counted as {name!r}")
            if not (is_whole(bucket) and is_whole(n)):
                raise ValueError("a count is no integer")
            counts.setdefault(name, {})[bucket] = n
        chains: Chains = {}
        for bucket, signature, n in chained:
            if not (is_whole(bucket) and isinstance(signature, str) and is_whole(n)):
                raise ValueError("a count of a signature is none")
            chains.setdefault(bucket, {})[signature] = n
        return cls(key, partition, offset, at, counts, chains)


class Changes:
    """Contributions of one record in the making."""

    __slots__ = ("_chains", "_counts")

    def __init__(self) -> None:
        self._counts: dict[str, Counts] = {}
        self._chains: dict[str, Chains] = {}

    def __bool__(self) -> bool:
        return bool(self._counts or self._chains)

    def add(self, key: str, series: str, bucket: int, n: int = 1) -> None:
        """Add to a bucket."""
        buckets = self._counts.setdefault(key, {}).setdefault(series, {})
        buckets[bucket] = buckets.get(bucket, 0) + n

    def chain(self, key: str, signature: str, bucket: int, n: int) -> None:
        """Add to the sessions that loop with a signature."""
        signatures = self._chains.setdefault(key, {}).setdefault(bucket, {})
        signatures[signature] = signatures.get(signature, 0) + n

    def contributions(self, partition: int, offset: int, at: int) -> tuple[Contribution, ...]:
        """Return what there is to send of the record at this place; what adds up to nothing is left out."""
        made = []
        for key in {**self._counts, **self._chains}:
            counts = {
                series: kept
                for series, buckets in self._counts.get(key, {}).items()
                if (kept := _without_zeros(buckets))
            }
            chains = {
                bucket: kept
                for bucket, signatures in self._chains.get(key, {}).items()
                if (kept := _without_zeros(signatures))
            }
            if counts or chains:
                made.append(Contribution(key, partition, offset, at, counts, chains))
        return tuple(made)


def _without_zeros(counts: Mapping[Any, int]) -> dict[Any, int]:
    return {name: n for name, n in counts.items() if n}

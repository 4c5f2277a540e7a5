"""What an epoch sees of a partition: stored values, with the changes of the epoch on top."""

from __future__ import annotations

from typing import Generic, TypeVar

V = TypeVar("V")


class StateView(Generic[V]):
    """One partition's values as an epoch sees them: stored state below, its own changes on top."""

    def __init__(self, cached: dict[str, V]) -> None:
        self._cached = cached
        self.changed: dict[str, V] = {}
        self.removed: dict[str, V] = {}

    def get(self, name: str) -> V | None:
        """Return the value as it is now, None when there is none. Values are never falsy."""
        return self.changed.get(name) or self._cached.get(name)

    def put(self, value: V, name: str) -> None:
        """Set the value; written when the epoch ends."""
        self.changed[name] = value

    def remove(self, value: V, name: str) -> None:
        """Remove a value that is as last written; an epoch that removes it does nothing else to it."""
        self.removed[name] = value


class Generations(Generic[V]):
    """Decoded values of one partition.

    The cache has two generations, so that bounding it costs nothing per look-up: when the young one is
    full it becomes the old one, and the old one is forgotten.
    """

    __slots__ = ("old", "young")

    def __init__(self) -> None:
        self.young: dict[str, V] = {}
        self.old: dict[str, V] = {}

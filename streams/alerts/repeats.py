"""What a sink is told again and again: open episodes until they end, and ends a few times more."""

from __future__ import annotations

from typing import Final

from streams.alerts.sinks.delivery import Delivery, Step
from streams.alerts.sinks.request import Delivered, Gone, Outcome, Refused
from streams.alerts.sinks.sink import Traits
from streams.alerts.waiting import Waiting

_FOR_LIFE: Final = -1


class Repeats:
    """The repeats of one sink, one for each episode.

    Args:
        traits: How often it wants them.
    """

    def __init__(self, traits: Traits) -> None:
        self._every_s = traits.refresh_s
        self._ends = traits.resolves - 1
        self._found: dict[tuple[str, str], Waiting] = {}

    def __len__(self) -> int:
        """Return how many episodes are repeated."""
        return len(self._found)

    def begin(self, delivery: Delivery, now: float, *, at_once: bool = False) -> Waiting | None:
        """Repeat a delivery from now on; return what is to be sent when it is due, None if nothing is."""
        if self._every_s is None or delivery.step is Step.NOTICE:
            return None
        left = self._ends if delivery.step is Step.RESOLVE else _FOR_LIFE
        if not left:
            self._found.pop(_key(delivery), None)
            return None
        # A repeat replaces nothing: its level is the one that was told last.
        settled = delivery._replace(told=delivery.told._replace(before=delivery.alert.level))
        due = now if at_once else now + self._every_s
        self._found[_key(delivery)] = repeat = Waiting(settled, due=due, repeats=left)
        return repeat

    def is_current(self, repeat: Waiting) -> bool:
        """Tell whether a repeat still holds: a later step of the episode replaces it."""
        return self._found.get(_key(repeat.first)) is repeat

    def settle(self, repeat: Waiting, outcome: Outcome, now: float) -> bool:
        """Take note of what became of a repeat; return whether it is to be sent again when it is due."""
        repeat.in_flight = False
        repeat.arrived = 0
        if not self.is_current(repeat):
            return False
        if isinstance(outcome, Delivered) and repeat.repeats is not None and repeat.repeats > 0:
            repeat.repeats -= 1
        if repeat.repeats == 0 or isinstance(outcome, Gone | Refused):
            del self._found[_key(repeat.first)]
            return False
        self.defer(repeat, now)
        return True

    def defer(self, repeat: Waiting, now: float) -> None:
        """Let a repeat be due again later."""
        repeat.due = now + (self._every_s or 0.0)

    def stop(self, partition: int) -> None:
        """Repeat no more of a partition."""
        self._found = {
            key: each for key, each in self._found.items() if each.first.alert.partition != partition
        }

    def forget(self, session_ids: frozenset[str]) -> None:
        """Repeat no more of some sessions: nothing was heard of them for long."""
        self._found = {key: each for key, each in self._found.items() if key[0] not in session_ids}


def _key(delivery: Delivery) -> tuple[str, str]:
    return delivery.alert.session_id, delivery.alert.key

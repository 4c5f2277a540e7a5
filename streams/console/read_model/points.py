"""The newest records of a session whose value was read: when they were, and the tokens they used.

From these come the rate and the proof that a paused agent stopped. They are sets by place: a record that is
read twice counts once.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from typing import Final

#: No agent uses more. Sums of thousands of these are still whole numbers of 64 bits.
_MOST: Final = 10**15


def amount(number: float) -> float:
    """Return a number, or the nearest one that somebody may have used; 0 for what is none.

    >>> amount(25_630), amount(0.25), amount(-3), amount(1e308), amount(float("-inf")), amount(float("nan"))
    (25630, 0.25, -3, 1000000000000000, -1000000000000000, 0)
    """
    return max(-_MOST, min(number, _MOST)) if number == number else 0  # noqa: PLR0124 - of all numbers, NaN


#: How many records of a session are kept.
MOST: Final = 128

#: What the rate is of, in ms.
WINDOW_MS: Final = 300_000

#: How many buckets the small chart of the window has.
BUCKETS: Final = 15

#: How long one is, in ms.
BUCKET_MS: Final = WINDOW_MS // BUCKETS
_SHORTEST_MS: Final = 60_000


#: Never added to.
_NO_TIMES: Final[array[int]] = array("q")
_NO_TOKENS: Final[array[float]] = array("d")


class Points:
    """Places in order, with Kafka's time, the time the agent gave, and the tokens of each.

    >>> points = Points()
    >>> points.add(17, 1_000, 900, 250), points.add(18, 2_000, 1_900, 350), points.add(17, 1_000, 900, 250)
    (None, None, None)
    >>> points.after(900), points.spent(2_000)
    (1, 600.0)
    """

    __slots__ = ("_kafka", "_own", "_places", "_tokens")

    def __init__(self, stored: bytes = b"") -> None:
        #: Most sessions of a busy cluster have few records whose value was read: no arrays before the first.
        self._places = self._kafka = self._own = _NO_TIMES
        self._tokens = _NO_TOKENS
        if stored:
            self._begin()
            part = len(stored) // 4
            self._places.frombytes(stored[:part])
            self._kafka.frombytes(stored[part : 2 * part])
            self._own.frombytes(stored[2 * part : 3 * part])
            self._tokens.frombytes(stored[3 * part :])

    def _begin(self) -> None:
        self._places, self._kafka, self._own = array("q"), array("q"), array("q")
        self._tokens = array("d")

    def stored(self) -> bytes:
        """Return the points as bytes."""
        times = self._places.tobytes() + self._kafka.tobytes() + self._own.tobytes()
        return times + self._tokens.tobytes()

    def add(self, place: int, kafka: int, own: int, tokens: float) -> None:
        """Add a record; one that is there already, or older than all that are kept, changes nothing."""
        if not self._places:
            self._begin()
        places = self._places
        at = len(places) if not places or place > places[-1] else bisect_left(places, place)
        if at < len(places) and places[at] == place:
            return
        self._tokens.insert(at, amount(tokens))  # first, as it refuses what is no number
        places.insert(at, place)
        self._kafka.insert(at, kafka)
        self._own.insert(at, own)
        if len(places) > MOST:
            del places[0], self._kafka[0], self._own[0], self._tokens[0]

    def __len__(self) -> int:
        return len(self._places)

    def after(self, own: int) -> int:
        """Return how many records the agent dates later than this."""
        return sum(each > own for each in self._own)

    def between(self, own: int, until: int | None) -> int:
        """Return how many records the agent dates later than ``own`` and, if given, before ``until``."""
        return sum(each > own and (until is None or each < until) for each in self._own)

    def spent(self, now: int) -> float:
        """Return the tokens of the window before ``now``."""
        begins = now - WINDOW_MS
        times, total = self._kafka, 0.0
        for at in range(len(times) - 1, -1, -1):
            if times[at] > begins:
                total += self._tokens[at]
        return total

    def chart(self, now: int) -> list[float]:
        """Return the tokens of each bucket of the window, oldest first; buckets begin at whole 20 seconds."""
        last = now // BUCKET_MS
        buckets = [0.0] * BUCKETS
        for time, tokens in zip(self._kafka, self._tokens, strict=True):
            at = BUCKETS - 1 - (last - time // BUCKET_MS)
            if 0 <= at < BUCKETS:
                buckets[at] += tokens
        return buckets

    def span(self, now: int, since: int) -> float:
        """Return the minutes that `spent` is of: less than the window where there is less to know of.

        Args:
            now: the end of the window.
            since: when the session, or what is asked about, began.
        """
        begins = max(now - WINDOW_MS, since)
        if len(self._kafka) == MOST:
            begins = max(begins, self._kafka[0])
        return max(_SHORTEST_MS, now - begins) / 60_000

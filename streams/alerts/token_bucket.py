"""How often something may happen: a number of times at once, and a rate in the long run."""

from __future__ import annotations


class TokenBucket:
    """A token bucket. Time is an argument, in seconds of any clock that does not go back.

    >>> bucket = TokenBucket(per_second=1, burst=2, now=0)
    >>> [bucket.take(0), bucket.take(0), bucket.take(0), bucket.take(1)]
    [True, True, False, True]
    """

    def __init__(self, per_second: float, burst: int, now: float) -> None:
        self._per_second = per_second
        self._burst = burst
        self._tokens = float(burst)
        self._at = now

    def take(self, now: float) -> bool:
        """Take a token if there is one."""
        self._fill(now)
        # Sums of parts of a second may miss a whole one by the last bit.
        if self._tokens < 1 - 1e-9:
            return False
        self._tokens = max(0.0, self._tokens - 1)
        return True

    def next_at(self, now: float) -> float:
        """Return when there is a token."""
        self._fill(now)
        return now + max(0.0, 1 - self._tokens) / self._per_second

    def _fill(self, now: float) -> None:
        self._tokens = min(self._burst, self._tokens + max(0.0, now - self._at) * self._per_second)
        self._at = max(self._at, now)

"""How often something may happen: at most so many in any minute."""

from __future__ import annotations

from collections import deque
from ipaddress import IPv6Address, IPv6Network
from typing import Final, NamedTuple

from streams.console.auth.policy import address_of

_MINUTE_MS: Final = 60_000


class Rate(NamedTuple):
    """A limit for one minute.

    Attributes:
        name: Name that tells limits apart.
        most: How many are let through.
        words: What is limited, in the words of a refusal.
    """

    name: str
    most: int
    words: str


LOGINS: Final = Rate("logins", 5, "5 logins a minute from one address")
ACTIONS: Final = Rate("actions", 30, "30 actions a minute for each user")
COMMANDS: Final = Rate("commands", 300, "300 commands a minute from one console")
WHAT_IF: Final = Rate("what-if", 12_000, "12,000 records judged again in a minute for each user")
AUDITED: Final = Rate("audited", 60, "60 refusals a minute in the audit")


class Rates:
    """Counts what happened in the last minute.

    Args:
        most_keys: Users or addresses remembered at most; beyond, the one that was seen first is forgotten.
    """

    def __init__(self, most_keys: int = 10_000) -> None:
        self._most_keys = most_keys
        self._taken: dict[tuple[str, str], deque[tuple[int, int]]] = {}

    def take(self, rate: Rate, key: str, now: int, count: int = 1) -> int:
        """Count something if it may happen.

        More than `Rate.most` at once may happen after a minute of none: a bulk action is not cut.

        Args:
            rate: Limit that is to be kept.
            key: Who is limited, such as an address.
            now: Time of the call, in milliseconds since 1970.
            count: How many at once.

        Returns:
            0 if it may happen, else the milliseconds to wait.
        """
        taken = self._taken.get((rate.name, key))
        if taken is None:
            self._make_room(now)
            taken = self._taken[rate.name, key] = deque()
        # A clock that was set back must lock nobody out.
        while taken and not now - _MINUTE_MS < taken[0][0] <= now:
            taken.popleft()
        used = sum(number for _, number in taken)
        if used and used + count > rate.most:
            return self._wait(taken, used + count - rate.most, now)
        taken.append((now, count))
        return 0

    def _wait(self, taken: deque[tuple[int, int]], excess: int, now: int) -> int:
        for at, number in taken:
            excess -= number
            if excess <= 0:
                return max(1, at + _MINUTE_MS - now)
        return max(1, taken[-1][0] + _MINUTE_MS - now)

    def _make_room(self, now: int) -> None:
        if len(self._taken) < self._most_keys:
            return
        self._taken = {
            key: taken for key, taken in self._taken.items() if taken and taken[-1][0] > now - _MINUTE_MS
        }
        while len(self._taken) >= self._most_keys:
            del self._taken[next(iter(self._taken))]


def place_of(peer: str) -> str:
    """Return what counts as one address: of IPv6, the network that one subscriber has.

    >>> place_of("10.0.0.7"), place_of("2001:db8::1:2:3:4"), place_of("::ffff:10.0.0.7")
    ('10.0.0.7', '2001:db8::/64', '10.0.0.7')
    """
    address = address_of(peer)
    if isinstance(address, IPv6Address):
        return str(IPv6Network((address, 64), strict=False))
    return str(address)

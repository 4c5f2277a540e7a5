"""The rules of one console, made from its settings once, and how often something may happen."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from streams.console.auth.cookie import LIFE_MS
from streams.core.domain.text.glob import are_affordable
from streams.core.errors import ConfigurationError
from streams.observe.access import is_loopback


class GroupGrant(NamedTuple):
    """What the members of a group may.

    Attributes:
        group: Name of the group; ``*`` is everyone, among those who may look.
        agents: pattern of the `agent_id` that it is limited to; None for every agent.
    """

    group: str
    agents: str | None = None


def grants_of(parts: Iterable[str], setting: str) -> tuple[GroupGrant, ...]:
    """Read groups, each alone or as ``group=agent_id pattern``.

    Args:
        parts: What stands between the commas of a setting.
        setting: Names it in messages.

    Raises:
        ConfigurationError: a group or a pattern is empty, or the patterns take too long to match.

    >>> grants_of(["sre", "checkout=checkout-*"], "EDDY_CONSOLE_OPERATOR_GROUPS")
    (GroupGrant(group='sre', agents=None), GroupGrant(group='checkout', agents='checkout-*'))
    """
    found = []
    for part in parts:
        group, limited, agents = (each.strip() for each in part.partition("="))
        if not group or (limited and not agents):
            raise ConfigurationError(f"{setting} has {part[:80]!r}: write group, or group=agent_id pattern.")
        found.append(GroupGrant(group, agents if limited else None))
    if not are_affordable(each.agents for each in found if each.agents is not None):
        raise ConfigurationError(f"{setting} has patterns that are too long to be searched for.")
    return tuple(found)


@dataclass(frozen=True, slots=True)
class AccessPolicy:
    """Who may come in, and how.

    Attributes:
        host: address the console listens on.
        base_path: in front of every path, as browsers see them.
        people: whether a file of people's tokens is set.
        trusted: networks whose proxies may name the user.
        proxy_secret: what such a proxy has to send; None if nothing.
        user_header, groups_header: where it names the user and their groups.
        operator_groups: groups whose members may act, on all agents or some.
        viewer_groups: groups whose members may look, at all agents or some; empty if everyone may.
        openid: name of the provider that people log in at, empty if they do not.
        address: of the console as browsers see it, with its base path; empty if it is not known.
        read_only: whether every action is refused.
        login_ms: how long a login lasts, in milliseconds.
    """

    host: str = "127.0.0.1"
    base_path: str = ""
    people: bool = False
    trusted: tuple[IPv4Network | IPv6Network, ...] = ()
    proxy_secret: str | None = None
    user_header: str = "X-Forwarded-User"
    groups_header: str = "X-Forwarded-Groups"
    operator_groups: tuple[GroupGrant, ...] = ()
    viewer_groups: tuple[GroupGrant, ...] = ()
    openid: str = ""
    address: str = ""
    read_only: bool = False
    login_ms: int = LIFE_MS

    def checked(self) -> AccessPolicy:
        """Return it.

        Raises:
            ConfigurationError: other machines could reach the console, and nothing says who people are; or
                people log in at a provider, and nothing says who of them may.
        """
        if self.by_link and not is_loopback(self.host):
            raise ConfigurationError(
                f"EDDY_CONSOLE_HOST is {self.host}, which other machines can reach, and nobody would have to "
                "log in. Set EDDY_CONSOLE_TOKENS, EDDY_CONSOLE_OPENID_ISSUER or "
                "EDDY_CONSOLE_TRUSTED_PROXIES, or leave the host at 127.0.0.1."
            )
        if self.openid and not self.viewer_groups:
            raise ConfigurationError(
                "EDDY_CONSOLE_OPENID_ISSUER is set, and EDDY_CONSOLE_VIEWER_GROUPS does not say who may "
                "look: name groups, or * for everyone who has an account there."
            )
        return self

    @property
    def by_link(self) -> bool:
        """Whether people log in with a link that the command prints."""
        return not self.people and not self.trusted and not self.openid

    @property
    def takes_tokens(self) -> bool:
        """Whether people can log in with a token, that of a link too."""
        return self.people or self.by_link

    def is_own(self, host: str) -> bool:
        """Tell whether a name is that of the console's address.

        Args:
            host: Value of the header Host.
        """
        parts = urlsplit(self.address)
        port = ":443" if parts.scheme == "https" else ":80"
        return bool(host) and parts.netloc.lower().removesuffix(port) == host.lower().removesuffix(port)

    def is_secure(self, host: str) -> bool:
        """Tell whether browsers speak TLS where they ask for the console by a name.

        Args:
            host: Value of the header Host.
        """
        return self.address.startswith("https:") and self.is_own(host)

    def trusts(self, peer: str) -> bool:
        """Tell whether a connection comes from a trusted proxy.

        Args:
            peer: address of the other end of the connection itself, never of a header.
        """
        address = address_of(peer)
        return address is not None and any(address in network for network in self.trusted)


def address_of(peer: str) -> IPv4Address | IPv6Address | None:
    """Return an address; an IPv4 address that an IPv6 socket shows as ``::ffff:10.0.0.1`` as IPv4.

    >>> address_of("::ffff:10.0.0.1"), address_of("fe80::1%eth0"), address_of("a name")
    (IPv4Address('10.0.0.1'), IPv6Address('fe80::1'), None)
    """
    try:
        address = ip_address(peer.partition("%")[0])
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


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
OPENID: Final = Rate("openid", 300, "300 logins at the provider a minute from one address")
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

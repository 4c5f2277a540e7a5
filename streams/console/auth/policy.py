"""The rules of one console, made from its settings once."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

from streams.core.errors import ConfigurationError
from streams.observe.access import is_loopback


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
        operator_groups: groups whose members may act.
        read_only: whether every action is refused.
    """

    host: str = "127.0.0.1"
    base_path: str = ""
    people: bool = False
    trusted: tuple[IPv4Network | IPv6Network, ...] = ()
    proxy_secret: str | None = None
    user_header: str = "X-Forwarded-User"
    groups_header: str = "X-Forwarded-Groups"
    operator_groups: frozenset[str] = frozenset()
    read_only: bool = False

    def checked(self) -> AccessPolicy:
        """Return it.

        Raises:
            ConfigurationError: other machines could reach the console, and nothing says who people are.
        """
        if not self.people and not self.trusted and not is_loopback(self.host):
            raise ConfigurationError(
                f"EDDY_CONSOLE_HOST is {self.host}, which other machines can reach, and nobody would have to "
                "log in. Set EDDY_CONSOLE_TOKENS or EDDY_CONSOLE_TRUSTED_PROXIES, or leave the host at "
                "127.0.0.1."
            )
        return self

    @property
    def by_link(self) -> bool:
        """Whether people log in with a link that the command prints."""
        return not self.people and not self.trusted

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

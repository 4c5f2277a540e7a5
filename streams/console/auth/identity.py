"""Who asks, and what they may do."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class Role(StrEnum):
    """What a person or a program may do."""

    VIEWER = "viewer"
    """Reads, and asks what other settings would have judged."""

    OPERATOR = "operator"
    """Acts, too."""

    AGENT = "agent"
    """Hears the commands of its own sessions and acknowledges them. Sees no page."""


class Identity(NamedTuple):
    """Who asks.

    Attributes:
        name: for people and for the audit.
        role: what they may do.
        via: `cookie` after a login, `proxy` if a trusted proxy names them, `token` for an agent.
        may_act: whether the buttons work: for operators, unless the console is read-only.
        binding: what their CSRF token is bound to: the login, or the name the proxy gives. Not shown.
    """

    name: str
    role: Role
    via: str
    may_act: bool
    binding: str = ""

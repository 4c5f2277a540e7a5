"""Who may do what in the console."""

from streams.console.access.door import Access
from streams.console.access.identity import Identity, Role
from streams.console.access.pages import AccessPages
from streams.console.access.refusal import Refusal
from streams.console.access.tokens import AgentToken
from streams.console.access.trail import Audit

__all__ = ["Access", "AccessPages", "AgentToken", "Audit", "Identity", "Refusal", "Role"]

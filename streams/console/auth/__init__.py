"""Who may do what in the console."""

from streams.console.auth.identity import Identity, Role
from streams.console.auth.login import AccessPages
from streams.console.auth.middleware import Access
from streams.console.auth.refusal import AuthRefusal
from streams.console.auth.tokens import AgentToken
from streams.console.auth.trail import Audit

__all__ = ["Access", "AccessPages", "AgentToken", "Audit", "AuthRefusal", "Identity", "Role"]

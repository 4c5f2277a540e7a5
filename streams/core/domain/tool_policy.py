"""What an operator says about single tools: how the verdict treats them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from streams.core.domain.by_identity import ByIdentity
from streams.core.domain.text.glob import Globs


class PolicyMode(StrEnum):
    """How the verdict treats a tool (specification 6.2)."""

    exempt = "exempt"
    polling = "polling"
    limits = "limits"


@dataclass(frozen=True, slots=True)
class ToolPolicy:
    """One entry of the setting ``tool_policies``; the first whose glob fits the lower-cased name holds.

    ``warn`` and ``loop`` are limits of rule R1 in records: both given for ``limits``, each optional for
    ``polling`` (specification 6.2 says what stands in), neither for ``exempt``.
    """

    glob: str
    mode: PolicyMode
    warn: int | None = None
    loop: int | None = None


_NAMES_REMEMBERED = 4_096
_LONGEST_REMEMBERED = 200

_Policies = tuple[ToolPolicy, ...]


class _Known:
    """The policies of one settings, compiled, and what holds for the names that were asked for."""

    __slots__ = ("_found", "_globs", "_policies")

    def __init__(self, policies: _Policies) -> None:
        self._policies = policies
        self._globs = Globs(policy.glob for policy in policies)
        self._found: dict[str, ToolPolicy | None] = {}

    def first(self, tool: str) -> ToolPolicy | None:
        found = self._found
        if tool in found:
            return found[tool]
        index = self._globs.first(tool.lower())
        holds = None if index is None else self._policies[index]
        # Producers choose the names: very long ones are not remembered, so that memory stays bounded.
        if len(tool) <= _LONGEST_REMEMBERED:
            if len(found) >= _NAMES_REMEMBERED:
                found.clear()
            found[tool] = holds
        return holds


_known = ByIdentity(_Known)


def first_policy(tool: str, policies: _Policies) -> ToolPolicy | None:
    """Return the first policy whose glob fits the lower-cased name, None when none does.

    >>> some = ToolPolicy("get_*", PolicyMode.polling), ToolPolicy("*", PolicyMode.exempt)
    >>> first_policy("Get_User", some).mode, first_policy("search", some).mode, first_policy("x", ())
    (<PolicyMode.polling: 'polling'>, <PolicyMode.exempt: 'exempt'>, None)
    """
    return _known.of(policies).first(tool)

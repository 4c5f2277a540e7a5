"""What an operator says about single tools: how the verdict treats them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class PolicyMode(StrEnum):
    """How the verdict treats a tool (SEMANTICS 6.2)."""

    exempt = "exempt"
    polling = "polling"
    limits = "limits"


@dataclass(frozen=True, slots=True)
class ToolPolicy:
    """One entry of the setting ``tool_policies``; the first whose glob fits the lower-cased name holds.

    ``warn`` and ``loop`` are limits of rule R1 in records: both given for ``limits``, each optional for
    ``polling`` (SEMANTICS 6.2 says what stands in), neither for ``exempt``.
    """

    glob: str
    mode: PolicyMode
    warn: int | None = None
    loop: int | None = None

"""What A3 sees in a record: which file or command it was about, and how that ended."""

from __future__ import annotations

from enum import StrEnum

from streams.core.detectors.patterns.settings import PatternsSettings
from streams.core.domain.decision import Decision
from streams.core.domain.text.digest import digest
from streams.core.domain.tool_class import ToolClass, tool_class


class ActionKind(StrEnum):
    """The classes of specification 3.5, told apart by outcome where A3 asks for it. One letter each."""

    READ = "r"
    WRITE = "w"
    UNWRITTEN = "u"
    COMMAND = "c"
    FAILED_COMMAND = "f"
    OTHER = "."


# By class: the status that makes the difference, the kind with it and the kind with any other.
_KINDS = {
    ToolClass.write: ("success", ActionKind.WRITE, ActionKind.UNWRITTEN),
    ToolClass.read: ("", ActionKind.READ, ActionKind.READ),
    ToolClass.command: ("failure", ActionKind.FAILED_COMMAND, ActionKind.COMMAND),
    ToolClass.other: ("", ActionKind.OTHER, ActionKind.OTHER),
}
_OTHER = ActionKind.OTHER


def action_kind_of(decision: Decision, settings: PatternsSettings) -> ActionKind:
    """Return what was done. Only records of kind ``tool`` have a class; a write counts when it succeeded."""
    if not decision.tool_call or decision.kind != "tool":
        return _OTHER
    status, kind, otherwise = _KINDS[tool_class(decision.tool_call, settings)]
    return kind if decision.status == status else otherwise


def failure_of(decision: Decision) -> str:
    """Return what makes two failed commands fail alike: a digest of tool, arguments, target and result.

    A null target or result equals only another null.
    """
    target = "-" if decision.target is None else f"+{decision.target}"
    result = decision.result_digest or "-"
    return digest(f"{decision.tool_call}\0{decision.canonical_input}\0{target}\0{result}") or ""

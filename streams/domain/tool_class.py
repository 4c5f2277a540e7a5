"""What a tool does to the world, told from its name."""

from __future__ import annotations

from enum import StrEnum
from functools import lru_cache

from streams.domain.detection_settings import DetectionSettings
from streams.domain.glob import any_of

_REMEMBERED = 4_096
_LONGEST_REMEMBERED = 200


class ToolClass(StrEnum):
    """The classes of SEMANTICS 3.5."""

    write = "write"
    read = "read"
    command = "command"
    other = "other"


def tool_class(tool: str, settings: DetectionSettings) -> ToolClass:
    """Classify a tool by its lower-cased name; write is asked before read before command (SEMANTICS 3.5).

    Only records of kind ``tool`` have a class; that is the caller's to check.

    >>> from streams.domain.detection_settings import DEFAULTS
    >>> tool_class("Read_File", DEFAULTS), tool_class("weather", DEFAULTS)
    (<ToolClass.read: 'read'>, <ToolClass.other: 'other'>)
    """
    # Producers choose the names: very long ones are not remembered, so that memory stays bounded.
    classify = _classify if len(tool) <= _LONGEST_REMEMBERED else _classify.__wrapped__
    return classify(tool, settings.write_tools, settings.read_tools, settings.command_tools)


@lru_cache(maxsize=_REMEMBERED)
def _classify(
    tool: str, write: tuple[str, ...], read: tuple[str, ...], command: tuple[str, ...]
) -> ToolClass:
    name = tool.lower()
    if any_of(write).match(name):
        return ToolClass.write
    if any_of(read).match(name):
        return ToolClass.read
    if any_of(command).match(name):
        return ToolClass.command
    return ToolClass.other

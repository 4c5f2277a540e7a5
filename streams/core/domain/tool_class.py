"""What a tool does to the world, judged by its name."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from functools import lru_cache

from streams.core.domain.by_identity import ByIdentity
from streams.core.domain.settings.tool_classes import ToolClassSettings
from streams.core.domain.text.glob import Globs

_REMEMBERED = 4_096
_LONGEST_REMEMBERED = 200


class ToolClass(StrEnum):
    """The classes of specification 3.5."""

    write = "write"
    read = "read"
    command = "command"
    other = "other"


def tool_class(tool: str, settings: ToolClassSettings) -> ToolClass:
    """Classify a tool by its lower-cased name; write is asked before read before command (specification 3.5).

    Only records of kind ``tool`` have a class; that is the caller's to check.

    >>> DEFAULTS = ToolClassSettings()
    >>> tool_class("Read_File", DEFAULTS), tool_class("weather", DEFAULTS)
    (<ToolClass.read: 'read'>, <ToolClass.other: 'other'>)
    """
    return _classes.of(settings)(tool)


def _classifying(settings: ToolClassSettings) -> Callable[[str], ToolClass]:
    write, read, command = map(Globs, (settings.write_tools, settings.read_tools, settings.command_tools))

    def classify(tool: str) -> ToolClass:
        name = tool.lower()
        if write.match(name):
            return ToolClass.write
        if read.match(name):
            return ToolClass.read
        if command.match(name):
            return ToolClass.command
        return ToolClass.other

    remembered = lru_cache(maxsize=_REMEMBERED)(classify)

    def class_of(tool: str) -> ToolClass:
        # Producers choose the names: very long ones are not remembered, so that memory stays bounded.
        return remembered(tool) if len(tool) <= _LONGEST_REMEMBERED else classify(tool)

    return class_of


_classes = ByIdentity(_classifying)

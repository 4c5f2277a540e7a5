"""A coding agent with hooks: where they are written down, what they are given, what they may answer. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum, unique
from pathlib import PurePath
from typing import Any, Final, NamedTuple

#: By these words a command in a file of hooks is known as Eddy's.
MARK: Final = "guard hook"

BEFORE_SECONDS: Final = 600
"""So long a call may wait while its session is paused: the timeout of the hook."""

AFTER_SECONDS: Final = 10


@unique
class HookMoment(StrEnum):
    """When a hook runs."""

    BEFORE = "before"
    """A tool is about to be called, and waits for the answer."""
    AFTER = "after"
    """A call has ended."""


class HookEvent(NamedTuple):
    """What a hook was given.

    ``input``, ``output`` and ``status`` (success, failure or skipped) are read after a call alone, and of
    programs whose logs Eddy does not follow.
    """

    session_id: str
    tool: str | None = None
    call_id: str | None = None
    input: Any = None
    output: str | None = None
    status: str = "success"


@unique
class HookDecision(StrEnum):
    """What a hook answers. Where nothing is to be said, it answers nothing, and the program goes on."""

    NOTE = "note"
    """Go on, and let the model read these words."""
    REFUSE = "refuse"
    """Do not run the tool; the model reads why, and goes on."""
    END = "end"
    """Do not run the tool, and end the session's turn where the program can."""


class HookAnswer(NamedTuple):
    """A decision, and its words."""

    decision: HookDecision
    words: str


class HookProgram(NamedTuple):
    """A program whose hooks Eddy answers.

    Attributes:
        name: as `eddy guard install` takes it.
        title: as its makers write it.
        place: returns the file of its hooks below a home folder or, if the second is true, below a project;
            the variables of the environment may say otherwise.
        installed: returns the new text of that file, given the old one (None without a file) and a function
            that returns the command to run at a moment. Raises ValueError if the old text cannot be kept.
        removed: returns the text without what `installed` wrote; None if nothing is left.
        event: returns what a hook was given, None if it names no session.
        answered: returns what the hook prints.
        notes: when the model reads words that a hook prints.
        has_log: whether Eddy follows its log; else a call is judged by what its hooks are given.
        then: what a person has to do after the installation; empty if nothing.
        source: where this is documented.
    """

    name: str
    title: str
    place: Callable[[PurePath, bool, Mapping[str, str]], PurePath]
    installed: Callable[[str | None, Callable[[HookMoment], str]], str]
    removed: Callable[[str], str | None]
    event: Callable[[Mapping[str, Any]], HookEvent | None]
    answered: Callable[[HookMoment, HookAnswer], Mapping[str, Any]]
    notes: frozenset[HookMoment]
    has_log: bool
    then: str
    source: str


def event_of(fields: Mapping[str, Any]) -> HookEvent | None:
    """Return what a hook was given that names its session and its tool as most programs do."""
    session_id = named(fields, "session_id")
    return None if session_id is None else HookEvent(session_id, named(fields, "tool_name"))


def named(fields: Mapping[str, Any], *names: str) -> str | None:
    """Return the first of some fields that is a text with characters in it."""
    for name in names:
        value = fields.get(name)
        if isinstance(value, str) and value:
            return value
    return None

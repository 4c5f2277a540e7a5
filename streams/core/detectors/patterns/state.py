"""What A3 keeps of a session.

The newest records of a session by what they were done to: file, tool and content, and which are equal.

A version is one short text: the marks (`streams.core.domain.text.marks`) of target, tool and content hash,
the last one absent where the hash is not known. A record without a target has none. In a window
(`streams.core.domain.shared_window`) of 20, one record in 200 million meets a chance equal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, NamedTuple, TypeAlias

from streams.core.detectors.patterns.settings import PatternsSettings
from streams.core.domain.decision import Decision
from streams.core.domain.shared_window import NOTHING, append, as_letters, item_of, letter
from streams.core.domain.text.digest import bounded, bounded_hash, digest
from streams.core.domain.text.marks import WIDTH, mark
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


Versions: TypeAlias = Sequence[str | None]

# No mark has this character.
_NO_TOOL = "." * WIDTH


def version(tool: str | None, target: str, content_hash: str | None) -> str:
    """Return the version of a target, as far as it is known.

    >>> version("cat", "a.py", None), version("cat", "a.py", "h0")
    ('#=qs8YKs!P', '#=qs8YKs!P=?62q')
    """
    return version_of_kept(
        None if tool is None else bounded(tool),
        bounded(target),
        None if content_hash is None else bounded_hash(content_hash),
    )


def version_of_kept(tool: str | None, target: str, content_hash: str | None) -> str:
    """Return the version of texts that are bounded already, as earlier versions of Eddy kept them."""
    tool_mark = _NO_TOOL if tool is None else mark(tool)
    return mark(target) + tool_mark + ("" if content_hash is None else mark(content_hash))


def contents(versions: Versions, places: str) -> Mapping[str, str]:
    """Return the letters of all versions of the newest record's target, each with the mark of its content.

    The mark is empty where the content is not known. Without a target there are none.

    >>> a, b = version("cat", "a", "h0"), version("edit", "a", None)
    >>> contents([a, version("cat", "b", "h0"), b], "ABC") == {"A": a[-5:], "C": ""}
    True
    """
    newest = item_of(versions, places[-1:])
    if newest is None:
        return {}
    target = newest[:WIDTH]
    return {
        letter(at): each[2 * WIDTH :]
        for at, each in enumerate(versions)
        if each is not None and each.startswith(target)
    }


_COMMAND, _FAILED_COMMAND = ActionKind.COMMAND, ActionKind.FAILED_COMMAND


class PatternsState(NamedTuple):
    """The newest records, oldest first, and how each pattern fared.

    Attributes:
        kinds: one letter (`ActionKind`) for each record.
        versions, places: the window (`streams.core.domain.shared_window`) of what was done to which content
            of which target (`version_window`); ``places`` counts only while a record in it has a target.
        failure: how the last command failed (`failure_of`), None when it did not.
        failures: how many commands in a row failed that way.
        trends: one `Trend`, as a list, for each pattern in order; empty until a pattern is completed.
    """

    kinds: str = ""
    versions: Versions = ()
    places: str = ""
    failure: str | None = None
    failures: int = 0
    trends: Sequence[Sequence[Any]] = ()


def advance(state: PatternsState, decision: Decision, settings: PatternsSettings) -> PatternsState:
    """Return the state with one more record in its window, the trends as they were."""
    kinds, versions, places, failure, failures, trends = state
    kind = action_kind_of(decision, settings)
    if kind is _FAILED_COMMAND:
        failed = failure_of(decision)
        failures = failures + 1 if failed == failure else 1
        failure = failed
    elif kind is _COMMAND:
        failure, failures = None, 0
    size = settings.pattern_window
    target = decision.target
    if target is not None or versions:
        newest = None if target is None else version(decision.tool, target, decision.content_hash)
        # Places do not follow records while no record of the window has a target.
        versions, places = append(versions, places if versions else NOTHING * len(kinds), newest, size)
    return PatternsState((kinds + kind)[-size:], versions, places, failure, failures, trends)


def upgraded(stored: Sequence[Any]) -> PatternsState:
    """Return a state as it was stored, also by a version that kept the texts and numbered the places.

    >>> upgraded(["r.", [["cat", "a.py", None]], [0, -1]])
    PatternsState(kinds='r.', versions=['#=qs8YKs!P'], places='A.', failure=None, failures=0, trends=())
    """
    kinds, versions, places, *others = stored
    if type(places) is str:
        return PatternsState(*stored)
    marked = [None if each is None else version_of_kept(*each) for each in versions]
    return PatternsState(kinds, marked, as_letters(places), *others)

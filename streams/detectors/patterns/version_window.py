"""The newest records of a session by what they were done to: file, tool and content, and which are equal.

A version is one short text: the marks (`streams.domain.text.marks`) of target, tool and content hash, the
last one absent where the hash is not known. A window is the different versions, and a text with a letter for
each record: that of its version, or `NOTHING` for a record without a target. A version that no letter stands
for any more is None, and gives its place to the next new one. In a window of 20, one record in 200 million
meets a chance equal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from streams.domain.text.bounded import bounded, bounded_hash
from streams.domain.text.marks import WIDTH, mark

NOTHING = "."

Versions: TypeAlias = Sequence[str | None]

_FIRST = ord("A")
# No mark has this character.
_NO_TOOL = "." * WIDTH


def letter(place: int) -> str:
    """Return the letter of the version at this place.

    >>> letter(0), letter(2)
    ('A', 'C')
    """
    return chr(_FIRST + place)


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
    told = _NO_TOOL if tool is None else mark(tool)
    return mark(target) + told + ("" if content_hash is None else mark(content_hash))


def append(versions: Versions, places: str, newest: str | None, size: int) -> tuple[Versions, str]:
    """Return the window with one more record, cut to the newest ``size``. Changes nothing in place.

    >>> append(["#=qs8YKs!P", None], "A.", "#=qs8YKs!P", size=2)
    (['#=qs8YKs!P', None], '.A')
    """
    leaving = max(0, len(places) + 1 - size)
    gone, places = places[:leaving], places[leaving:]
    for each in gone:
        if each != NOTHING and each not in places:
            versions = [*versions]
            versions[ord(each) - _FIRST] = None
    if newest is None:
        return versions, places + NOTHING
    if newest not in versions:
        versions = [*versions]
        if None in versions:
            versions[versions.index(None)] = newest
        else:
            versions.append(newest)
    return versions, places + letter(versions.index(newest))


def contents(versions: Versions, places: str) -> Mapping[str, str]:
    """Return the letters of all versions of the newest record's target, each with the mark of its content.

    The mark is empty where the content is not known. Without a target there are none.

    >>> a, b = version("cat", "a", "h0"), version("edit", "a", None)
    >>> contents([a, version("cat", "b", "h0"), b], "ABC") == {"A": a[-5:], "C": ""}
    True
    """
    newest = None if places[-1:] in {"", NOTHING} else versions[ord(places[-1]) - _FIRST]
    if newest is None:
        return {}
    target = newest[:WIDTH]
    return {
        letter(at): each[2 * WIDTH :]
        for at, each in enumerate(versions)
        if each is not None and each.startswith(target)
    }

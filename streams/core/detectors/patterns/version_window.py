"""The newest records of a session by what they were done to: file, tool and content, and which are equal.

A version is one short text: the marks (`streams.core.domain.text.marks`) of target, tool and content hash,
the last one absent where the hash is not known. A record without a target has none. In a window
(`streams.core.domain.shared_window`) of 20, one record in 200 million meets a chance equal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from streams.core.domain.shared_window import item_of, letter
from streams.core.domain.text.bounded import bounded, bounded_hash
from streams.core.domain.text.marks import WIDTH, mark

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
    told = _NO_TOOL if tool is None else mark(tool)
    return mark(target) + told + ("" if content_hash is None else mark(content_hash))


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

"""Shell-style patterns over tool names: the one way settings name groups of tools."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from fnmatch import translate
from typing import Final

MOST_SEARCHED: Final = 2_000
"""Characters, of one setting, in patterns that are no name, ``name*`` or ``*name``: each is searched for."""

_WILD = re.compile(r"[?\[]")

Fits = Callable[[str], object]


class Globs:
    """Patterns in order (``*``, ``?``, ``[seq]``, as `fnmatch`); a whole name must fit.

    There may be thousands of names, beginnings (``name*``) and ends (``*name``): those are looked up.

    >>> some = Globs(("read_*", "cat", "v[0-9]", "*"))
    >>> some.first("read_file"), some.first("cat"), some.first("v2"), some.first("concat")
    (0, 1, 2, 3)
    >>> Globs(("read_*", "cat")).first("concat") is None
    True
    """

    __slots__ = ("_beginnings", "_ends", "_lengths", "_names", "_others")

    def __init__(self, globs: Iterable[str]) -> None:
        self._names: dict[str, int] = {}
        self._beginnings: dict[str, int] = {}
        self._ends: dict[str, int] = {}
        self._others: list[tuple[int, Fits]] = []
        for index, glob in enumerate(globs):
            if _is_searched(glob):
                self._others.append((index, _search(glob)))
            elif glob.endswith("*"):
                self._beginnings.setdefault(glob[:-1], index)
            elif glob.startswith("*"):
                self._ends.setdefault(glob[1:], index)
            else:
                self._names.setdefault(glob, index)
        self._lengths = sorted({len(text) for text in (*self._beginnings, *self._ends)})

    def first(self, name: str) -> int | None:
        """Return which is the first pattern that fits, None when none does."""
        first = min((index for index in self._looked_up(name) if index is not None), default=None)
        for index, fits in self._others:
            if first is not None and first < index:
                break
            if fits(name):
                return index
        return first

    def _looked_up(self, name: str) -> Iterator[int | None]:
        yield self._names.get(name)
        for length in self._lengths:
            if length > len(name):
                return
            yield self._beginnings.get(name[:length])
            yield self._ends.get(name[len(name) - length :])

    def match(self, name: str) -> bool:
        """Tell whether any pattern fits."""
        return self.first(name) is not None


def are_affordable(globs: Iterable[str]) -> bool:
    """Tell whether the patterns of one setting keep to `MOST_SEARCHED`.

    >>> are_affordable(["read_*"] * 10_000), are_affordable(["*" + "a" * 999 + "*"] * 2)
    (True, False)
    """
    return sum(len(glob) for glob in globs if _is_searched(glob)) <= MOST_SEARCHED


def _is_searched(glob: str) -> bool:
    stars = glob.count("*")
    at_an_end = stars == 0 or (stars == 1 and "*" in (glob[0], glob[-1]))
    return not at_an_end or _WILD.search(glob) is not None


def _search(glob: str) -> Fits:
    return re.compile(translate(glob)).match if _WILD.search(glob) else _between_stars(glob)


def _between_stars(glob: str) -> Fits:
    # As quick as a search for each text; a regular expression would take longer to compile than to use.
    first, *middle, last = glob.split("*")
    inner = [text for text in middle if text]
    least = len(first) + len(last)

    def fits(name: str) -> bool:
        if len(name) < least or not (name.startswith(first) and name.endswith(last)):
            return False
        at, end = len(first), len(name) - len(last)
        for text in inner:
            found = name.find(text, at, end)
            if found < 0:
                return False
            at = found + len(text)
        return True

    return fits

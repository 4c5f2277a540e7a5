"""Shell-style patterns over tool names: the one way settings name groups of tools."""

from __future__ import annotations

import re
from fnmatch import translate
from functools import lru_cache

_REMEMBERED = 512


@lru_cache(maxsize=_REMEMBERED)
def any_of(globs: tuple[str, ...]) -> re.Pattern[str]:
    """Compile globs (``*``, ``?``, ``[seq]``, as `fnmatch`) to one pattern that matches when any does.

    Use its ``match``; the whole name must fit. Patterns are remembered by value.

    >>> bool(any_of(("read_*", "cat")).match("read_file")), bool(any_of(("cat",)).match("concat"))
    (True, False)
    """
    return re.compile("|".join(map(translate, globs)) if globs else r"(?!)")


def matches(name: str, glob: str) -> bool:
    """Tell whether the lower-cased ``name`` fits ``glob``.

    >>> matches("Get_User", "get_*")
    True
    """
    return any_of((glob,)).match(name.lower()) is not None

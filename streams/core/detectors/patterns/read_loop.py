"""The same file read again and again, though nothing about it changed (specification 5.3, read_loop)."""

from __future__ import annotations

from streams.core.detectors.patterns.state import ActionKind, PatternsState, contents

SENTENCE = "read {target} once more, though nothing has changed it since"
_READ, _WRITE = ActionKind.READ.value, ActionKind.WRITE.value


def is_read_loop(state: PatternsState, theta: int) -> bool:
    """Tell whether the newest record is at least the ``theta``-th read of its target since that last changed.

    A read with another hash than the last known one, and a successful write that is not known to have left
    the content as it was, restart the count. Failed reads count; failed writes do not matter.

    >>> from streams.core.detectors.patterns.state import version
    >>> versions = [version("cat", "a.py", "h0"), version("edit", "a.py", "h1")]
    >>> is_read_loop(PatternsState("rrr", versions, "AAA"), theta=3)
    True
    >>> is_read_loop(PatternsState("rrwr", versions, "AABA"), theta=3)
    False
    """
    kinds, versions, places = state[:3]
    if kinds[-1] != _READ or kinds.count(_READ) < theta:
        return False
    of_the_target = contents(versions, places)
    if not of_the_target:
        return False
    count, known = 0, ""
    for kind, place in zip(kinds, places, strict=True):
        content = of_the_target.get(place)
        if content is None:
            continue
        if kind == _READ:
            if content:
                if known and content != known:
                    count = 0
                known = content
            count += 1
        elif kind == _WRITE:
            if not content or content != known:
                count = 0
            known = content
    return count >= theta

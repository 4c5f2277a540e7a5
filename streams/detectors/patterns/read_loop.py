"""The same file read again and again, though nothing about it changed (specification 5.3, read_loop)."""

from __future__ import annotations

from streams.detectors.patterns.action_kind import ActionKind
from streams.detectors.patterns.state import PatternsState
from streams.domain.shared_window import NOTHING

SENTENCE = "read {target} once more, though nothing has changed it since"
_READ, _WRITE = ActionKind.READ.value, ActionKind.WRITE.value


def is_read_loop(state: PatternsState, theta: int) -> bool:
    """Tell whether the newest record is at least the ``theta``-th read of its target since that last changed.

    A read with another hash than the last known one, and a successful write that is not known to have left
    the content as it was, restart the count. Failed reads count; failed writes do not matter.

    >>> versions = [["cat", "a.py", "h0"], ["edit", "a.py", "h1"]]
    >>> is_read_loop(PatternsState("rrr", versions, [0, 0, 0]), theta=3)
    True
    >>> is_read_loop(PatternsState("rrwr", versions, [0, 0, 1, 0]), theta=3)
    False
    """
    kinds, versions, places = state[:3]
    if kinds[-1] != _READ or not places or places[-1] == NOTHING or kinds.count(_READ) < theta:
        return False
    newest = versions[places[-1]]
    wanted = newest and newest[1]
    hashes = {place: item[2] for place, item in enumerate(versions) if item and item[1] == wanted}
    count = 0
    known: str | None = None
    for kind, place in zip(kinds, places, strict=True):
        if place not in hashes:
            continue
        content_hash = hashes[place]
        if kind == _READ:
            if content_hash is not None:
                if known is not None and content_hash != known:
                    count = 0
                known = content_hash
            count += 1
        elif kind == _WRITE:
            if content_hash is None or content_hash != known:
                count = 0
            known = content_hash
    return count >= theta

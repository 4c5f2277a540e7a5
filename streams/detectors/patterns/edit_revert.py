"""A file written back to what it was before the last change (specification 5.3, edit_revert)."""

from __future__ import annotations

from streams.detectors.patterns.action_kind import ActionKind
from streams.detectors.patterns.state import PatternsState
from streams.domain.shared_window import NOTHING

SENTENCE = "{target} is back at content it had before: an edit was undone"
_WRITE = ActionKind.WRITE.value
_KNOWING = (ActionKind.READ.value, _WRITE)


def is_edit_revert(state: PatternsState, theta: int = 0) -> bool:  # noqa: ARG001 - asked like the others
    """Tell whether the newest record is a successful write of a content that its target had, and then lost.

    Earlier contents are known from reads and successful writes that gave a hash.

    >>> versions = [["edit", "a.py", "h0"], ["edit", "a.py", "h1"]]
    >>> is_edit_revert(PatternsState("www", versions, [0, 1, 0]))
    True
    >>> is_edit_revert(PatternsState("ww", versions, [0, 0]))
    False
    """
    kinds, versions, places = state[:3]
    if kinds[-1] != _WRITE or not places or places[-1] == NOTHING:
        return False
    _, target, content_hash = versions[places[-1]] or (None, None, None)
    if content_hash is None:
        return False
    hashes = {place: item[2] for place, item in enumerate(versions) if item and item[1] == target and item[2]}
    had = False
    for kind, place in zip(kinds[:-1], places[:-1], strict=True):
        if place in hashes and kind in _KNOWING:
            if hashes[place] == content_hash:
                had = True
            elif had:
                return True
    return False

"""A file written back to what it was before the last change (specification 5.3, edit_revert)."""

from __future__ import annotations

from streams.core.detectors.patterns.state import ActionKind, PatternsState, contents

SENTENCE = "{target} is back at content it had before: an edit was undone"
_WRITE = ActionKind.WRITE.value
_KNOWING = (ActionKind.READ.value, _WRITE)


def is_edit_revert(state: PatternsState, theta: int = 0) -> bool:  # noqa: ARG001 - asked like the others
    """Tell whether the newest record is a successful write of a content that its target had, and then lost.

    Earlier contents are known from reads and successful writes that gave a hash.

    >>> from streams.core.detectors.patterns.state import version
    >>> versions = [version("edit", "a.py", "h0"), version("edit", "a.py", "h1")]
    >>> is_edit_revert(PatternsState("www", versions, "ABA"))
    True
    >>> is_edit_revert(PatternsState("ww", versions, "AA"))
    False
    """
    kinds, versions, places = state[:3]
    if kinds[-1] != _WRITE:
        return False
    known = contents(versions, places)
    content = known.get(places[-1:])
    if not content:
        return False
    had = False
    for kind, place in zip(kinds[:-1], places[:-1], strict=True):
        if kind in _KNOWING and (earlier := known.get(place)):
            if earlier == content:
                had = True
            elif had:
                return True
    return False

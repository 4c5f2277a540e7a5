"""The same pattern soon again is the same episode (specification 6.8, re-arm)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from streams.core.detectors.verdict.standing import Standing
from streams.core.detectors.verdict.state import RECENT, VerdictState
from streams.core.domain.text.digest import digest

# Key of a rule to [number of the last record that fired with it, episode of that record], oldest first.
Keys = Mapping[str, Sequence[Any]]


def within(keys: Keys, number: int, window: int) -> Keys:
    """Return the keys of records that are in the window together with the record of this number.

    >>> within({"old": [4, "e1"], "new": [5, "e2"]}, number=10, window=6)
    {'new': [5, 'e2']}
    """
    if not keys or next(iter(keys.values()))[0] > number - window:
        return keys
    return {key: last for key, last in keys.items() if last[0] > number - window}


def remembering(keys: Keys, key: str, number: int, episode_id: str) -> Keys:
    """Return the keys after a record fired with one of them."""
    others = {name: last for name, last in keys.items() if name != key}
    others[key] = [number, episode_id]
    return others


def key_of(standing: Standing, state: VerdictState) -> str:
    """Return what makes two firings of a rule the same pattern, as a digest.

    R1: the signature. R2: the signatures of the cycle in any order; of a longer one its period. R7: every
    one is the same, for its records come in no order. R9: the tool.
    """
    match standing.rule:
        case "R1":
            about = [state.signature]
        case "R2" if (standing.period or 1) <= RECENT:
            about = sorted(state.newest_signatures(standing.period or 1))
        case "R2":
            about = [str(standing.period)]
        case "R9":
            about = [state.tools[-1] or ""]
        case _:
            about = []
    return digest("\0".join([standing.rule, *about])) or ""

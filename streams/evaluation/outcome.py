"""How a recorded session ended: did it solve its task?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_WORDS: Final = {"1": True, "1.0": True, "true": True, "0": False, "0.0": False, "false": False}
_OUTCOMES: Final = {"CORRECT": True, "INCORRECT": False, "HALTED": False}


def solved(line: Mapping[str, Any]) -> bool | None:
    """Read from a label line whether the session solved its task; None when it does not say.

    ``solved`` is Eddy's own name, true or false. Published sets of trajectories have ``success``, a
    ``reward`` that is 1 for a solved task, or an ``outcome``; these are read where ``solved`` is missing.

    >>> solved({"solved": False}), solved({"reward": 1.0}), solved({"outcome": "CORRECT"}), solved({})
    (False, True, True, None)
    """
    for field in ("solved", "success", "reward"):
        value = line.get(field)
        if isinstance(value, bool):
            return value
        if isinstance(value, int | float):
            return value >= 1
        if isinstance(value, str) and value.lower() in _WORDS:
            return _WORDS[value.lower()]
    outcome = line.get("outcome")
    return _OUTCOMES.get(outcome) if isinstance(outcome, str) else None

"""What people said about a recorded session: which of its records repeat what was done before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

REPETITION: Final = "Repetition"
"""The word, among those for a transition, that says loop."""


@dataclass(frozen=True, slots=True)
class SessionLabel:
    """The label line of one session.

    Attributes:
        session_id: the session.
        source: the data set it comes from.
        repetitions: positions of the records labelled as repetitions, from 0; None when no one labelled the
            transitions of this session. Not labelled is not "no repetition".
        transitions: number of labelled transitions, 0 when no one did.
    """

    session_id: str
    source: str
    repetitions: frozenset[int] | None
    transitions: int

    def fits(self, records: int) -> bool:
        """Tell whether the labels are those of a session of that many records."""
        return self.repetitions is None or self.transitions == max(0, records - 1)


def session_label(line: Mapping[str, Any]) -> SessionLabel | None:
    """Read one label line; None when it does not name a session.

    ``action_action`` has one word per pair of consecutive records. Word k, from 0, is about the step from
    record k to record k + 1, so it says what record k + 1 is. Only a person's words are taken: a line whose
    ``label_source`` is not ``human`` counts as unlabelled.

    >>> line = {"session_id": "set::1", "label_source": "human"}
    >>> session_label(line | {"action_action": ["Follow-up", "Repetition"]}).repetitions
    frozenset({2})
    >>> session_label(line | {"action_action": None}).repetitions is None
    True
    """
    session_id = line.get("session_id")
    if not isinstance(session_id, str) or not session_id:
        return None
    words = line.get("action_action")
    source = source_of(session_id)
    if line.get("label_source") != "human" or not isinstance(words, list):
        return SessionLabel(session_id, source, None, 0)
    repetitions = frozenset(at for at, word in enumerate(words, 1) if word == REPETITION)
    return SessionLabel(session_id, source, repetitions, len(words))


def source_of(session_id: str) -> str:
    """Return the data set of a session: the part of its id before ``::``, all of it without one.

    >>> source_of("set::a/1"), source_of("s1")
    ('set', 's1')
    """
    return session_id.partition("::")[0]

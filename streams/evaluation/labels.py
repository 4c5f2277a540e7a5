"""What somebody said about a recorded session: its repetitions, whether it was stuck, how it ended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from streams.evaluation.outcome import solved
from streams.evaluation.stuck_label import StuckLabel, stuck_label

REPETITION: Final = "Repetition"
"""The word, among those for a transition, that says loop."""


@dataclass(frozen=True, slots=True)
class SessionLabel:
    """What is known of one session. Each part may be missing: not labelled never means "no".

    Attributes:
        session_id: the session.
        source: the data set it comes from.
        repetitions: positions of the records labelled as repetitions, from 0; None when no one labelled the
            transitions of this session.
        transitions: number of labelled transitions, 0 when no one did.
        stuck: whether it was stuck, and since when.
        solved: whether it solved its task.
    """

    session_id: str
    source: str
    repetitions: frozenset[int] | None = None
    transitions: int = 0
    stuck: StuckLabel | None = None
    solved: bool | None = None

    def misfit(self, records: int) -> str | None:
        """Tell what is wrong with these labels for a session of that many records."""
        if self.repetitions is not None and self.transitions != max(0, records - 1):
            return f"{self.transitions} labels for {records} records"
        return None if self.stuck is None else self.stuck.misfit(records)

    def joined(self, other: SessionLabel) -> SessionLabel:
        """Return both labels of one session as one.

        Raises:
            ValueError: both speak of the same thing.
        """
        for mine, theirs in (
            (self.repetitions, other.repetitions),
            (self.stuck, other.stuck),
            (self.solved, other.solved),
        ):
            if mine is not None and theirs is not None:
                raise ValueError("labelled twice; the first line counts")
        steps = self if self.repetitions is not None else other
        return SessionLabel(
            self.session_id,
            self.source,
            steps.repetitions,
            steps.transitions,
            self.stuck or other.stuck,
            other.solved if self.solved is None else self.solved,
        )


def session_label(line: Mapping[str, Any]) -> SessionLabel | None:
    """Read one label line; None when it does not name a session.

    ``action_action`` has one word per pair of consecutive records. Word k, from 0, is about the step from
    record k to record k + 1, so it says what record k + 1 is. Only a person's words are taken: a line whose
    ``label_source`` is not ``human`` counts as unlabelled. `stuck_label` and `solved` read the rest.

    Raises:
        ValueError: as for `stuck_label`.

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
    known = words if line.get("label_source") == "human" and isinstance(words, list) else None
    return SessionLabel(
        session_id,
        source_of(session_id),
        None if known is None else frozenset(at for at, word in enumerate(known, 1) if word == REPETITION),
        0 if known is None else len(known),
        stuck_label(line),
        solved(line),
    )


def source_of(session_id: str) -> str:
    """Return the data set of a session: the part of its id before ``::``, all of it without one.

    >>> source_of("set::a/1"), source_of("s1")
    ('set', 's1')
    """
    return session_id.partition("::")[0]

"""What somebody said about a recorded session: its repetitions, whether it was stuck, how it ended."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeGuard

Stretch = tuple[int, int]
"""First and last record of a stretch, from 0."""

_STUCK: Final = {"yes": True, True: True, "no": False, False: False}


@dataclass(frozen=True, slots=True)
class StuckLabel:
    """What a reader, or several of one mind, said about a session.

    Attributes:
        stuck: whether the agent was stuck; None where readers were unsure or disagreed.
        onset: the first record of the pattern, from 0: the first repeat, not the original. None unless stuck.
        stretches: where it was stuck; empty for "from the onset to the end".
        read: how many records, from the first, the reader has seen; None for all.
    """

    stuck: bool | None
    onset: int | None = None
    stretches: tuple[Stretch, ...] = ()
    read: int | None = None

    def misfit(self, records: int) -> str | None:
        """Tell what is wrong with this label for a session of that many records."""
        if self.onset is not None and self.read is not None and self.onset >= self.read:
            return f"labelled stuck since record {self.onset}, of 0 to {self.read - 1} that were read"
        needed = max(self.read or 0, 0 if self.onset is None else self.onset + 1)
        return (
            None if needed <= records else f"labelled stuck by {needed} records, of which {records} are there"
        )

    def seen(self, records: int) -> int:
        """Return how many records of a session of that many the label is about."""
        return records if self.read is None else self.read

    def marked(self, records: int) -> frozenset[int]:
        """Return the records on which the agent was stuck, in a session of that many.

        >>> sorted(StuckLabel(True, 1, ((1, 2), (4, 9)), read=6).marked(8))
        [1, 2, 4, 5]
        """
        if self.onset is None:
            return frozenset()
        seen = self.seen(records)
        stretches = self.stretches or ((self.onset, seen - 1),)
        # A label may end a stretch far behind the session, to say "to the end".
        return frozenset(at for first, last in stretches for at in range(first, min(last + 1, seen)))


def stuck_label(line: Mapping[str, Any]) -> StuckLabel | None:
    """Read what a label line says about being stuck; None when it says nothing.

    ``stuck`` is ``yes`` or ``no``, or true or false; any other word says that it is disputed. ``onset`` is
    the first record of the pattern. ``intervals``, or those of all ``readers``, are the stretches.
    ``records`` is how many records were read.

    Raises:
        ValueError: a field holds what it cannot; the text names it.

    >>> stuck_label({"stuck": "yes", "onset": 4})
    StuckLabel(stuck=True, onset=4, stretches=(), read=None)
    >>> stuck_label({"stuck": "unsure", "onset": None}).stuck is None
    True
    """
    word = line.get("stuck")
    if word is None:
        return None
    read = _position(line, "records") if line.get("records") is not None else None
    stuck = _STUCK.get(word) if isinstance(word, str | bool) else None
    if not stuck:
        return StuckLabel(stuck, read=read)
    return StuckLabel(stuck, _position(line, "onset"), tuple(_stretches(line)), read)


def _position(line: Mapping[str, Any], field: str) -> int:
    value = line.get(field)
    if not _is_position(value):
        raise ValueError(f"{field} must be a whole number, 0 or more")
    return value


def _stretches(line: Mapping[str, Any]) -> Iterator[Stretch]:
    readers = line.get("readers")
    labels = [line, *readers] if isinstance(readers, list) else [line]
    for each in labels:
        intervals = each.get("intervals") if isinstance(each, Mapping) else None
        for stretch in intervals if isinstance(intervals, list) else ():
            if not (isinstance(stretch, list) and len(stretch) == 2 and all(map(_is_position, stretch))):
                raise ValueError("intervals must be a list of [first record, last record], from 0")
            first, last = stretch
            yield first, last


def _is_position(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


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


REPETITION: Final = "Repetition"
"""The word, among those for a transition, that says loop."""


@dataclass(frozen=True, slots=True)
class SessionLabel:
    """What is known of one session. Each part may be missing: not labelled never means "no".

    Attributes:
        session_id: id of the recorded session.
        source: the data set it comes from.
        repetitions: positions of the records labelled as repetitions, from 0; None when no one labelled the
            transitions of this session.
        transitions: number of labelled transitions, 0 when no one did.
        stuck: whether it was stuck, and since when.
        solved: whether it solved its task.
        rewards: the reward of the task after each record, None where it is not known; None without rewards.
    """

    session_id: str
    source: str
    repetitions: frozenset[int] | None = None
    transitions: int = 0
    stuck: StuckLabel | None = None
    solved: bool | None = None
    rewards: tuple[float | None, ...] | None = None

    def misfit(self, records: int) -> str | None:
        """Tell what is wrong with these labels for a session of that many records."""
        if self.repetitions is not None and self.transitions != max(0, records - 1):
            return f"{self.transitions} labels for {records} records"
        if self.rewards is not None and len(self.rewards) != records:
            return f"{len(self.rewards)} rewards for {records} records"
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
            (self.rewards, other.rewards),
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
            other.rewards if self.rewards is None else self.rewards,
        )


def session_label(line: Mapping[str, Any]) -> SessionLabel | None:
    """Read one label line; None when it does not name a session.

    ``action_action`` has one word per pair of consecutive records. Word k, from 0, is about the step from
    record k to record k + 1, so it says what record k + 1 is. Only a person's words are taken: a line whose
    ``label_source`` is not ``human`` counts as unlabelled. ``rewards`` has the reward of the task after each
    record, null where it is not known. `stuck_label` and `solved` read the rest.

    Raises:
        ValueError: as for `stuck_label`, and for rewards that are no list of numbers.

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
        _rewards(line.get("rewards")),
    )


def _rewards(given: object) -> tuple[float | None, ...] | None:
    if given is None:
        return None
    # True and false are numbers to Python.
    if not isinstance(given, list) or any(
        isinstance(each, bool) or not isinstance(each, int | float | None) for each in given
    ):
        raise ValueError("rewards must be a list of numbers, null where one is not known")
    return tuple(given)


def source_of(session_id: str) -> str:
    """Return the data set of a session: the part of its id before ``::``, all of it without one.

    >>> source_of("set::a/1"), source_of("s1")
    ('set', 's1')
    """
    return session_id.partition("::")[0]

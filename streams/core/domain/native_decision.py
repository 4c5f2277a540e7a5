"""Twins of what costs most of a record, in the native core: the same values, sooner.

Only importable where ``eddy-native`` is installed; `streams.core.domain.twins` says what is in use.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, TypeVar

import eddy_native as core

from streams.core.domain import validation
from streams.core.domain.decision import Decision, lazy
from streams.core.domain.text.added import Added
from streams.core.domain.text.marks import WIDTH, Marks
from streams.core.domain.validation import Fields

T = TypeVar("T")


def known_fields(value: Mapping[str, Any]) -> Fields | None:
    """Do what `streams.core.domain.validation.known_fields` does."""
    found = core.known_fields(value)
    return validation.known_fields(value) if found is None else found


class NativeMarks(Marks):
    """A set of words that the native core compares."""

    __slots__ = ()

    def jaccard(self, other: Marks) -> float:
        """Return |a and b| / |a or b|, unrounded; 0 when both are empty (specification 3.3)."""
        shared = core.shared(self, other)
        either = 0 if shared is None else (len(self) + len(other)) // WIDTH - shared
        return super().jaccard(other) if shared is None or not either else shared / either


def _read_at_once(in_python: lazy[T]) -> lazy[T]:
    """Return a value that is read with all others of its kind when the first of them is asked for.

    The native core puts them where `lazy` keeps its values, so nothing is looked up twice.
    """

    def value(decision: Decision) -> T:
        found = decision.__dict__
        if core.read_texts(found, decision.action, decision.intent):
            made: T = found[in_python.name]
            return made
        return in_python.compute(decision)

    value.__name__, value.__doc__ = in_python.name, in_python.__doc__
    return lazy(value)


class NativeDecision(Decision):
    """A decision whose texts the native core reads. Those that it leaves to Python, `Decision` reads."""

    result_text = _read_at_once(Decision.result_text)
    _input_forms = _read_at_once(Decision._input_forms)
    canonical_input = _read_at_once(Decision.canonical_input)
    result = _read_at_once(Decision.result)
    result_digest = _read_at_once(Decision.result_digest)
    call_digest = _read_at_once(Decision.call_digest)
    signature = _read_at_once(Decision.signature)

    @lazy
    def _marks(self) -> tuple[str, str]:
        """The marks of the step, and of what is spoken."""
        found = self.__dict__
        if core.read_texts(found, self.action, self.intent):
            marks: tuple[str, str] = found["_marks"]
            return marks
        return Decision.step_marks.compute(self), Marks.of(self.spoken_words)

    @lazy
    def _added(self) -> tuple[str, int, list[str], list[str]]:
        found = self.__dict__
        if core.read_texts(found, self.action, self.intent):
            added: tuple[str, int, list[str], list[str]] = found["_added"]
            return added
        return Decision.added.compute(self)

    @lazy
    def added(self) -> Added:
        """What the answer says that the call did not (specification 6.3b)."""
        return Added._make(self._added)

    @lazy
    def step_marks(self) -> Marks:
        """The words of intent, tool, arguments and result text together (specification 5.4)."""
        return NativeMarks(self._marks[0])

    @lazy
    def spoken_marks(self) -> AbstractSet[str]:
        """The marks of `spoken_words`."""
        return Marks(self._marks[1]).set

    def speaks_more_than(self, most: int) -> bool:
        """Tell whether there are more of `spoken_words`."""
        return len(self._marks[1]) > WIDTH * most

    def spoken_among(self, marks: str) -> Sequence[int]:
        """Return which of these marks, by their places in a text of marks, are among `spoken_marks`."""
        found = core.places(marks, self._marks[1])
        return super().spoken_among(marks) if found is None else found

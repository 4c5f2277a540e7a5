"""Twins of what costs most of a record, in the native core: the same values, sooner.

Only importable where ``eddy-native`` is installed; `streams.core.domain.twins` says what is in use.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import eddy_native as core

from streams.core.domain import validation
from streams.core.domain.decision import Decision
from streams.core.domain.lazy import lazy
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
    spoken_marks = _read_at_once(Decision.spoken_marks)

    @lazy
    def _marks(self) -> tuple[str, str, str]:
        """The marks of arguments, result and step."""
        found = self.__dict__
        if core.read_texts(found, self.action, self.intent):
            marks: tuple[str, str, str] = found["_marks"]
            return marks
        names = Decision.argument_marks, Decision.result_marks, Decision.step_marks
        arguments, result, step = [of.compute(self) for of in names]
        return arguments, result, step

    @lazy
    def argument_marks(self) -> Marks:
        """The words of `canonical_input`."""
        return NativeMarks(self._marks[0])

    @lazy
    def result_marks(self) -> Marks:
        """The words of `result`."""
        return NativeMarks(self._marks[1])

    @lazy
    def step_marks(self) -> Marks:
        """The words of intent, tool, arguments and result text together (specification 5.4)."""
        return NativeMarks(self._marks[2])

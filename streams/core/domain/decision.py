"""One accepted record, and what is derived from it (specification 2.3)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from types import MappingProxyType
from typing import Any, Generic, NamedTuple, TypeVar, overload

from streams.core.domain.text.added import Added, added
from streams.core.domain.text.canonical import forms
from streams.core.domain.text.digest import digest, digest_and_longer
from streams.core.domain.text.marks import USED, Marks, mark, places_among, words
from streams.core.domain.text.result_text import normalise_result, single_spaced, with_placeholders

T = TypeVar("T")


class lazy(Generic[T]):  # noqa: N801 - reads as the decorator it is
    """A property computed at most once per object.

    Like `functools.cached_property`, without the lock that Python 3.11 takes on every first access.

    >>> class Circle:
    ...     @lazy
    ...     def area(self) -> float:
    ...         print("computing")
    ...         return 3.0
    >>> circle = Circle()
    >>> circle.area, circle.area
    computing
    (3.0, 3.0)
    """

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self.compute = compute
        self.__doc__ = compute.__doc__
        self.name = compute.__name__

    @overload
    def __get__(self, instance: None, owner: type) -> lazy[T]: ...

    @overload
    def __get__(self, instance: object, owner: type) -> T: ...

    def __get__(self, instance: object | None, owner: type) -> lazy[T] | T:
        if instance is None:
            return self
        value = self.compute(instance)
        # The instance dictionary shadows this descriptor from now on: later reads cost nothing extra.
        instance.__dict__[self.name] = value
        return value


class _Accepted(NamedTuple):
    partition: int
    offset: int
    session_id: str
    event_id: str
    timestamp: int
    agent_id: str
    intent: str | None
    status: str
    tool_call: str | None
    kind: str
    tool: str | None
    target: str | None
    content_hash: str | None
    tokens_used: float
    progress_delta: float | None
    action: dict[str, Any]
    state_delta: Mapping[str, Any]
    known: dict[str, Any]


_NO_DELTA: Mapping[str, Any] = MappingProxyType({})


class Decision(_Accepted):
    """A validated record with its coordinates. Values that cost something are computed when first read.

    Attributes:
        partition, offset: where the record stands in the input topic.
        session_id, event_id, agent_id: as reported; ``agent_id`` may be blank.
        timestamp: meta.timestamp, ms since 1970.
        intent: cognition.intent; None exactly when there is no cognition.
        status: success, failure, pending or skipped.
        tool_call: action.tool_call as reported, "" and None kept apart; `tool` does not.
        kind: action.kind if it is not empty, else ``tool`` for a record with a tool, else ``llm``.
        tool: name of the tool, "" read as None.
        target: what was acted on, "" read as None.
        content_hash: hash of the target's content after the action, "" read as None.
        tokens_used: tokens_consumed, 0 when it is not given.
        progress_delta: progress of this step as a share of the task.
        action: the group `action`, known fields only.
        state_delta: the group `state_delta`, known fields only; empty without one.
        known: the whole record, known fields only, as it is forwarded. Read only.
    """

    @classmethod
    def of(cls, partition: int, offset: int, known: dict[str, Any]) -> Decision:
        """Make the decision of a record whose known fields `streams.core.domain.validation` found valid."""
        identity = known["identity"]
        meta = known["meta"]
        action = known["action"]
        tool_call = action.get("tool_call")
        cognition = known.get("cognition")
        delta = known.get("state_delta") or _NO_DELTA
        return cls(
            partition,
            offset,
            known["session_id"],
            known["event_id"],
            meta["timestamp"],
            identity["agent_id"],
            None if cognition is None else cognition["intent"],
            action["status"],
            tool_call,
            action.get("kind") or ("tool" if tool_call else "llm"),
            tool_call or None,
            action.get("target") or None,
            action.get("content_hash") or None,
            delta.get("tokens_consumed") or 0,
            delta.get("progress_delta"),
            action,
            delta,
            known,
        )

    @property
    def has_agent(self) -> bool:
        """Whether agent_id is more than spaces."""
        return bool(self.agent_id) and not self.agent_id.isspace()

    @property
    def task_type(self) -> str | None:
        """Kind of task of the session."""
        return self.known.get("task_type")

    @property
    def goal(self) -> str | None:
        """cognition.goal; None also without cognition."""
        cognition = self.known.get("cognition")
        return None if cognition is None else cognition.get("goal")

    @lazy
    def round_digest(self) -> str:
        """Digest of the round that the step belongs to, empty if it is not known."""
        round_id = self.known["meta"].get("round_id")
        return (digest(round_id) or "") if round_id else ""

    @property
    def is_terminal(self) -> bool:
        """Whether the session ends with this record."""
        control = self.known.get("control")
        return control is not None and control.get("is_terminal") is True

    @lazy
    def _input_forms(self) -> tuple[str, str]:
        return forms(self.action.get("tool_input"))

    @lazy
    def canonical_input(self) -> str:
        """The arguments in their canonical form (specification 3.1), "" without arguments."""
        return self._input_forms[0]

    @property
    def loose_input(self) -> str:
        """The arguments as calls are compared by (specification 3.1b), mostly the same object."""
        return self._input_forms[1]

    @lazy
    def result_text(self) -> str | None:
        """The error of a failure that gives one, else tool_output_summary."""
        if self.status == "failure" and self.action.get("error"):
            return str(self.action["error"])
        return self.action.get("tool_output_summary")

    @lazy
    def _placed(self) -> str | None:
        """The result text with placeholders, its blanks as they are."""
        return None if self.result_text is None else with_placeholders(self.result_text)

    @lazy
    def result(self) -> str | None:
        """The normalised result text (specification 3.2)."""
        return None if self._placed is None else single_spaced(self._placed)

    @lazy
    def result_digest(self) -> str | None:
        """Digest of `result`."""
        return digest(self.result)

    @lazy
    def call(self) -> str:
        """What was called with which arguments; without a tool, what was intended."""
        if self.tool_call:
            return f"tool\0{self.tool_call}\0{self.loose_input}"
        return f"text\0{normalise_result(self.intent or '')}"

    @lazy
    def _digests(self) -> tuple[str, str]:
        """`call_digest` and `signature`; the second text goes on from the first, which may be long."""
        outcome = f"\0{self.status}\0{self.result_digest or ''}"
        return digest_and_longer(self.call, outcome)

    @lazy
    def call_digest(self) -> str:
        """Digest of `call`, which is too long to be kept."""
        return self._digests[0]

    @lazy
    def signature(self) -> str:
        """Digest of call, status and result: equal for records that did the same with the same outcome."""
        return self._digests[1]

    @lazy
    def added(self) -> Added:
        """What the answer says that the call did not (specification 6.3b)."""
        return added(self.tool_call, self.canonical_input, self.intent, self.result)

    @lazy
    def step_marks(self) -> Marks:
        """The words of intent, tool, arguments and result text together (specification 5.4)."""
        # What is told has most of the words, so it is taken as a whole, behind what only was said.
        said, room = self._said
        answered = {} if self.result_text is None else words(self.result_text[:room])
        return Marks.of([*[word for word in said if word not in answered], *answered])

    @property
    def spoken_words(self) -> dict[str, None]:
        """The words of intent, tool, arguments and target together (specification 5.5)."""
        said, room = self._said
        return said if self.target is None else {**said, **words(self.target[:room])}

    @lazy
    def spoken_marks(self) -> AbstractSet[str]:
        """The marks of `spoken_words`."""
        return set(map(mark, self.spoken_words))

    def speaks_more_than(self, most: int) -> bool:
        """Tell whether there are more of `spoken_words`."""
        # Two words may have one mark, so the words are counted well below it.
        return len(self.spoken_marks) > most // 2 and len(self.spoken_words) > most

    def spoken_among(self, marks: str) -> Sequence[int]:
        """Return which of these marks, by their places in a text of marks, are among `spoken_marks`."""
        return places_among(marks, self.spoken_marks)

    @lazy
    def _said(self) -> tuple[dict[str, None], int]:
        """The words of intent, tool and arguments, and how many characters of a text behind them count.

        Words do not reach across a blank, so those of both together are the words of each.
        """
        said = " ".join([part for part in (self.intent, self.tool, self.canonical_input) if part])
        return words(said), max(0, USED - len(said) - 1) if said else USED

    @property
    def cumulative_cost(self) -> float | None:
        """cumulative_session_cost, in the currency of the producer."""
        cost: float | None = self.state_delta.get("cumulative_session_cost")
        return cost

    @property
    def context_quality(self) -> float | None:
        """Quality of the context, usually 0 to 1."""
        quality: float | None = self.state_delta.get("context_quality")
        return quality

    @property
    def added_to_memory(self) -> bool:
        """Whether the step committed anything to memory."""
        return bool(self.state_delta.get("added_to_memory"))

    def is_without_progress(self, previous_result: str | None) -> bool:
        """Tell whether this step made no progress ("no progress" of specification 2.3).

        Args:
            previous_result: `result_digest` of the session's scored record before this one, or what is kept
                of it; None when there is none.
        """
        if self.progress_delta is not None:
            return self.progress_delta <= 0
        if self.added_to_memory:
            return False
        if self.status == "failure":
            return True
        if previous_result is None or self.result_digest is None:
            return False
        return self.result_digest.startswith(previous_result)

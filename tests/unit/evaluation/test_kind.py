"""In what way a record repeats."""

from streams.domain.decision import Decision
from streams.domain.validation import known_fields
from streams.evaluation.kind import Kind, Kinds
from tests.stream import decision_log


def decision(tool: str | None, arguments: str = "") -> Decision:
    known = known_fields(decision_log(intent=arguments, tool=tool, tool_input=arguments))
    assert known is not None
    return Decision.of(0, 0, known)


def kinds(*calls: tuple[str | None, str]) -> list[Kind]:
    session = Kinds()
    return [session.next(decision(*call)) for call in calls]


def test_the_first_kind_that_applies() -> None:
    assert kinds(("a", "1"), ("a", "1"), ("a", "2"), ("b", "1"), ("a", "1"), ("a", "3"), ("a", "1")) == [
        Kind.FIRST,
        Kind.SAME_CALL,
        Kind.SAME_TOOL,
        Kind.OTHER,
        Kind.RETURNING,
        Kind.SAME_TOOL,
        Kind.RETURNING,
    ]


def test_thoughts_are_calls_without_a_tool() -> None:
    assert kinds((None, "so"), (None, "so"), (None, "then")) == [Kind.FIRST, Kind.SAME_CALL, Kind.SAME_TOOL]

"""What a gateway is told: who is paused or loops is refused, and what is not known is never called good."""

import pytest

from streams.core.domain.level import Level
from streams.core.policy.verdict_answer import VerdictAnswer, asked_level, verdict_of

LOOPS = VerdictAnswer("s", known=True, level=Level.LOOP, rule="R1", control="none")


@pytest.mark.parametrize(
    ("level", "deny", "refused"),
    [
        (Level.LOOP, None, False),
        (Level.LOOP, Level.WARNING, True),
        (Level.LOOP, Level.LOOP, True),
        (Level.WARNING, Level.LOOP, False),
        (Level.WARNING, Level.WARNING, True),
        (Level.NORMAL, Level.WARNING, False),
        (None, Level.WARNING, False),
    ],
)
def test_a_loop_is_refused_from_a_level_on(level: Level | None, deny: Level | None, *, refused: bool) -> None:
    answer = LOOPS._replace(level=level)
    assert (answer.refusal(deny) is not None) is refused
    assert answer.fields(deny)["allow"] is not refused


@pytest.mark.parametrize("control", ["paused", "aborted"])
@pytest.mark.parametrize("known", [True, False])
def test_what_was_asked_of_a_session_counts_whatever_is_known_of_it(control: str, *, known: bool) -> None:
    answer = VerdictAnswer("s", known=known, control=control)
    assert answer.refusal(None) == f"The session is {control}."


def test_who_knows_no_commands_says_so() -> None:
    standing = {"session_id": "s", "ended": False, "level": "NORMAL", "episode": None, "timestamp": 5}
    answer = verdict_of(standing)
    assert (answer.known, answer.level, answer.control, answer.as_of) == (True, Level.NORMAL, None, 5)
    assert verdict_of({"session_id": "s", "ended": True}).ended


@pytest.mark.parametrize("word", ["NORMAL", "x", "loops"])
def test_only_levels_that_something_has_to_reach_can_be_named(word: str) -> None:
    with pytest.raises(ValueError, match=r"NORMAL|not a valid"):
        asked_level(word)

"""The newest steps of a session, whatever an agent wrote."""

from typing import Any

from streams.cli.top.newest_steps import MOST_SESSIONS, MOST_STEPS, NewestSteps


def step(session: str, number: int = 0, **more: Any) -> dict[str, Any]:
    return {"session_id": session, "number": number, **more}


def test_of_a_session_the_newest_are_kept() -> None:
    steps = NewestSteps()
    for number in range(MOST_STEPS + 3):
        steps.add(step("s", number))
    assert [each["number"] for each in steps.of("s")] == list(range(3, MOST_STEPS + 3))


def test_of_many_sessions_those_with_the_newest_records_are_kept() -> None:
    steps = NewestSteps()
    for number in range(MOST_SESSIONS):
        steps.add(step(f"s-{number}"))
    steps.add(step("s-0", 1))
    steps.add(step("new"))
    assert [each["number"] for each in steps.of("s-0")] == [0, 1]
    assert steps.of("s-1") == []
    assert steps.of("s-2") != []


def test_half_a_surrogate_pair_and_a_long_integer_come_back() -> None:
    steps = NewestSteps()
    steps.add(step("s\ud83d", 2**70))
    (found,) = steps.of("s\ud83d")
    assert (found["session_id"], found["number"]) == ("s\ud83d", 2**70)

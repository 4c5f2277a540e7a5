"""What became of a command: asked, received, in effect, over, refused."""

from __future__ import annotations

from dataclasses import replace

import pytest
from eddy_client.protocol import FINAL, PRESENCE, Status
from hypothesis import given
from hypothesis import strategies as st

from streams.control.outcome import (
    PRESENT_MS,
    Ack,
    CommandPhase,
    GuardFacts,
    answers,
    departed,
    furthest,
    present,
)
from tests.unit.control.samples import NOW


def ack(status: str, command_id: str | None = "c", guard: str = "g", at: int = NOW, **more: object) -> Ack:
    fields = {"session_id": "s-17", "id": f"{command_id}/{guard}/{status}", **more}
    return Ack(status=status, command_id=command_id, guard_id=guard, at=at, **fields)  # type: ignore[arg-type]


def test_without_an_answer_a_command_is_only_asked_for() -> None:
    assert answers("c", []) == {}
    assert furthest([]) is CommandPhase.ASKED


@pytest.mark.parametrize(
    ("status", "phase"),
    [
        (Status.RECEIVED, CommandPhase.RECEIVED),
        (Status.APPLIED, CommandPhase.IN_EFFECT),
        (Status.RELEASED, CommandPhase.OVER),
        (Status.EXPIRED, CommandPhase.OVER),
        (Status.SUPERSEDED, CommandPhase.OVER),
        (Status.REJECTED, CommandPhase.REFUSED),
        (Status.UNSUPPORTED, CommandPhase.REFUSED),
        (Status.FAILED, CommandPhase.REFUSED),
    ],
)
def test_each_answer_says_how_far_the_command_has_come(status: Status, phase: CommandPhase) -> None:
    [answer] = answers("c", [ack(Status.RECEIVED), ack(status)]).values()
    assert answer.phase is phase
    assert answer.received_at == NOW


def test_every_answer_to_a_command_has_a_phase() -> None:
    for status in set(Status) - PRESENCE:
        assert answers("c", [ack(status)]), status
    assert {each for each in FINAL if answers("c", [ack(each)])} == FINAL


def test_answers_to_other_commands_presence_and_later_words_are_none_to_this_one() -> None:
    others = [ack(Status.APPLIED, "other"), ack(Status.ATTACHED, None), ack("thought about")]
    assert answers("c", others) == {}


def test_a_repeat_of_an_earlier_answer_does_not_undo_a_later_one() -> None:
    told = [ack(Status.APPLIED), ack(Status.RELEASED, at=NOW + 5), ack(Status.APPLIED, at=NOW + 9)]
    [answer] = answers("c", told).values()
    assert (answer.phase, answer.ack.status) == (CommandPhase.OVER, Status.RELEASED)


def test_the_guard_that_is_furthest_counts_for_all() -> None:
    told = [ack(Status.REJECTED, guard="a"), ack(Status.RECEIVED, guard="b"), ack(Status.APPLIED, guard="c")]
    found = answers("c", told)
    assert len(found) == 3
    assert furthest(found.values()) is CommandPhase.IN_EFFECT
    assert furthest(list(found.values())[:2]) is CommandPhase.RECEIVED
    assert furthest(list(found.values())[:1]) is CommandPhase.REFUSED


def test_a_guard_is_there_until_it_leaves_or_is_silent_for_ten_minutes() -> None:
    facts = GuardFacts(integration="langgraph")
    attached = replace(ack(Status.ATTACHED, None, agent_id="coder-7"), guard=facts)
    later = ack(Status.APPLIED, at=NOW + 60_000)
    [found] = present([attached, later], NOW + 60_000).values()
    assert (found.heard_at, found.agent_id, found.guard) == (NOW + 60_000, "coder-7", facts)
    assert present([attached, later], NOW + 60_000 + PRESENT_MS) != {}
    assert present([attached, later], NOW + 60_001 + PRESENT_MS) == {}
    assert present([attached, ack(Status.DETACHED, None)], NOW) == {}
    assert present([ack(Status.DETACHED, None), attached], NOW) != {}


@given(
    statuses=st.lists(st.sampled_from(Status), max_size=8), repeats=st.lists(st.integers(0, 7), max_size=4)
)
def test_repeats_change_nothing(statuses: list[Status], repeats: list[int]) -> None:
    told = [ack(status, at=NOW + number) for number, status in enumerate(statuses)]
    again = told + [told[number] for number in repeats if number < len(told)]
    assert answers("c", again) == answers("c", told)


def test_a_guard_has_left_until_it_says_anything_again_and_for_ten_minutes() -> None:
    attached, left = ack(Status.ATTACHED, None), ack(Status.DETACHED, None, at=NOW + 5)
    assert departed([attached, left], NOW + 5) == {("s-17", "g"): left}
    assert departed([attached, left, attached], NOW + 5) == {}
    assert departed([attached, left], NOW + 5 + PRESENT_MS) != {}
    assert departed([attached, left], NOW + 6 + PRESENT_MS) == {}

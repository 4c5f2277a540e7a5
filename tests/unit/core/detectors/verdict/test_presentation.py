"""Every event of an episode in words."""

from typing import Any

import pytest

from streams.core.detectors.verdict.presentation import VerdictPresentation
from streams.core.detectors.verdict.step import POINTS
from streams.core.detectors.verdict.stuck_words import MEANINGS

SENTENCE = VerdictPresentation().sentence
SINCE = "since 22:13:20"


def episode(rule: str, count: int, *tools: str, period: int | None = None, **more: Any) -> dict[str, Any]:
    return {
        "phase": "opened",
        "level": "LOOP",
        "reopened": False,
        "reason": None,
        "rule": rule,
        "period": period,
        "count": count,
        "tools": list(tools),
        "first_offset": 7,
        "first_timestamp": 1_700_000_000_000,
        "records": 1,
        "tokens_since_onset": 0,
        "cost_since_onset": None,
        **more,
    }


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        (
            episode("R1", 4, "search", period=1),
            "search: the same call with the same result, 4 times in a row (R1)",
        ),
        (
            episode("R1", 4, "", period=1),
            "no tool: the same call with the same result, 4 times in a row (R1)",
        ),
        (
            episode("R2", 3, "Read", "Edit", "Edit", "Bash", period=4),
            "Read → Edit → Bash: the same 4 steps with the same results, 3 times round (R2)",
        ),
        (
            episode("R2", 2, "Read", "Edit", "Read", "Edit", "Bash", period=12),
            "Read → Edit → Read → Edit → Bash: the same 12 steps with the same results, 2 times round (R2)",
        ),
        (
            episode("R9", 40, "get_job", last_timestamp=1_700_000_000_000 + 75 * 60_000),
            "get_job: 40 looks, and nothing new for 75 minutes (R9)",
        ),
        (episode("R3", 6, "Edit"), "Edit: the same error 6 times, whatever the arguments (R3)"),
        (episode("R4", 5, "search"), "search: the same result 5 times in a row, whatever the arguments (R4)"),
        (
            episode("R5", 6, "note"),
            "note: 6 calls in a row in nearly the same words, with nearly the same results (R5)",
        ),
        (
            episode("R6", 5, "look"),
            "look: 5 calls in a row that were all made before, with the same results (R6)",
        ),
        (episode("R8", 9, "look"), "9 steps that told the agent nothing new, the newest of look (R8)"),
    ],
)
def test_every_rule_has_words_those_that_went_too(fields: dict[str, Any], text: str) -> None:
    assert SENTENCE(fields) == f"{text}; {SINCE}"


@pytest.mark.parametrize(
    ("more", "start"),
    [
        ({"level": "WARNING"}, "may become a loop: x: "),
        ({"level": "WARNING", "reopened": True}, "may become a loop again: x: "),
        ({"reopened": True}, "again: x: "),
        ({"phase": "escalated", "reopened": True}, "x: "),
        ({"phase": "still_open"}, "goes on: x: "),
        ({"phase": "recovered", "reason": "quiet"}, "out of the loop after 1 record: x: "),
        (
            {"phase": "recovered", "reason": "terminal", "records": 1200},
            "the session ended in the loop after 1,200 records: x: ",
        ),
        (
            {"phase": "recovered", "reason": "expired"},
            "the session fell silent in the loop after 1 record: x: ",
        ),
    ],
)
def test_every_phase_has_words(more: dict[str, Any], start: str) -> None:
    assert SENTENCE(episode("R3", 6, "x", **more)).startswith(start)


@pytest.mark.parametrize(
    ("tokens", "cost", "end"),
    [
        (0, None, ""),
        (1234, None, ": 1,234 tokens"),
        (1234.5, 0.25, ": 1,234 tokens, $0.25"),
        (0, 0.25, ": $0.25"),
        (5, 0.0, ": 5 tokens"),
    ],
)
def test_what_it_has_cost_is_told_as_far_as_it_was_reported(
    tokens: float, cost: float | None, end: str
) -> None:
    fields = episode("R3", 6, "x", tokens_since_onset=tokens, cost_since_onset=cost)
    assert SENTENCE(fields).endswith(f"{SINCE}{end}")


def test_a_rule_and_an_end_that_only_a_newer_worker_knows_have_words() -> None:
    told = episode("R10", 4, "search", phase="recovered", reason="bored", records=5)
    words = "search: a loop by a rule that this version of Eddy does not know (R10)"
    assert SENTENCE(told) == f"the loop is over after 5 records: {words}; {SINCE}"
    assert SENTENCE(episode("R\x1b[2J", 4, "search")).isprintable()


def test_names_of_tools_cannot_steer_the_terminal() -> None:
    assert SENTENCE(episode("R3", 6, "x\x1b[2J\n")).isprintable()


def test_a_reader_has_words_for_a_kind_of_step_of_a_newer_worker() -> None:
    stuck = {"score": 3.0, "kind": "far_away", "points": 1.0, "refers_to": None}
    assert VerdictPresentation().summary({"stuck": stuck}) == "stuck score 3; last step +1: far_away"


def test_the_stuck_score_says_what_raised_it_the_most_frequent_first() -> None:
    kinds = {
        "again": 1,
        "refused_again": 3,
        "counted": 1,
        "back": 1,
        "new": 1,
        "few": 1,
        "waiting": 4,
        "acted": 2,
    }
    told = SENTENCE(episode("R7", 6, "run", stuck={"score": 5.5, "kinds": kinds}))
    assert "3 times refused as before" in told
    assert told.index("refused as before") < told.index("earlier step")
    assert "2 new results in 14 steps" in told
    assert "not counted: 4 steps of waiting, 2 actions that were acknowledged" in told


def test_every_kind_of_step_has_words() -> None:
    for kind, points in POINTS.items():
        block = {"stuck": {"score": 3.25, "kind": kind.value, "points": points, "refers_to": 7}}
        told = VerdictPresentation().summary(block)
        assert told.startswith(f"stuck score 3.25; last step {points:+g}: ")
        assert told.endswith(", offset 7")
        assert MEANINGS[kind] in told

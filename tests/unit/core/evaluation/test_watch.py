"""What detectors say about the records of a session, and in what way a record repeats."""

from typing import Any

import pytest

from streams.core.domain.decision import Decision
from streams.core.domain.validation import known_fields
from streams.core.evaluation.alarms import DETECTORS
from streams.core.evaluation.watch import CallKind, CallKinds, DetectorWatch
from tests.stream import Stream, decision_log


def kinds(*calls: tuple[str | None, str]) -> list[CallKind]:
    session = CallKinds()
    return [session.next(decision(*call)) for call in calls]


def test_the_first_kind_that_applies() -> None:
    assert kinds(("a", "1"), ("a", "1"), ("a", "2"), ("b", "1"), ("a", "1"), ("a", "3"), ("a", "1")) == [
        CallKind.FIRST,
        CallKind.SAME_CALL,
        CallKind.SAME_TOOL,
        CallKind.OTHER,
        CallKind.RETURNING,
        CallKind.SAME_TOOL,
        CallKind.RETURNING,
    ]


def test_thoughts_are_calls_without_a_tool() -> None:
    assert kinds((None, "so"), (None, "so"), (None, "then")) == [
        CallKind.FIRST,
        CallKind.SAME_CALL,
        CallKind.SAME_TOOL,
    ]


def fire(rule: str, count: int, period: int | None = None, level: str = "WARNING") -> dict[str, Any]:
    return {"rule": rule, "count": count, "period": period, "level": level}


def verdict(*fired: dict[str, Any], level: str = "NORMAL") -> dict[str, Any]:
    return {"verdict": {"visible": True, "fired": list(fired), "level": level, "repeat_distance": None}}


UNSEEN = {"verdict": {"visible": False, "fired": None, "level": "WARNING", "repeat_distance": None}}


def decision(
    tool: str | None = "search", arguments: str = "a", at_ms: int = 0, **state_delta: float | None
) -> Decision:
    log = decision_log(arguments, tool, "success", tool_input=arguments, at_ms=at_ms)
    known = known_fields({**log, "state_delta": state_delta})
    assert known is not None
    return Decision.of(0, 0, known)


def watched(*records: tuple[str, dict[str, Any]]) -> DetectorWatch:
    watch = DetectorWatch()
    for tool, eddy in records:
        watch.add(decision(tool), eddy)
    return watch


def test_the_baseline_is_the_same_call_as_the_record_before() -> None:
    watch = DetectorWatch()
    for arguments in ("a", "a", "b", "a", "a"):
        watch.add(decision(arguments=arguments), verdict())
    assert watch.positions("baseline") == {1, 4}


def test_what_was_seen_before_came_next_or_is_returning() -> None:
    blocks = [verdict() for _ in range(4)]
    blocks[1]["verdict"]["repeat_distance"] = 1
    blocks[3]["verdict"]["repeat_distance"] = 2
    watch = watched(*(("search", block) for block in blocks))
    assert watch.raised["seen-before"] == {"next": {1}, "returning": {3}}


def test_a_step_that_raises_the_stuck_score_is_named_by_its_kind() -> None:
    raised = {"score": 1.0, "kind": "back", "points": 1.0, "refers_to": 0}
    blocks = [verdict(), {"verdict": {**verdict()["verdict"], "stuck": raised}}, verdict()]
    assert watched(*(("search", block) for block in blocks)).raised["stuck-step"] == {"back": {1}}


def test_records_are_sorted_by_kind() -> None:
    assert watched(*((tool, verdict()) for tool in "aabba")).kinds == {
        CallKind.FIRST: {0},
        CallKind.SAME_CALL: {1, 3},
        CallKind.OTHER: {2},
        CallKind.RETURNING: {4},
    }


def test_a_refused_record_keeps_its_place() -> None:
    watch = DetectorWatch()
    watch.add(decision(), verdict())
    watch.skip()
    watch.add(decision(), verdict(fire("R1", 3)))
    assert watch.records == 3
    assert watch.positions("verdict-warning") == {2}


def test_seconds_are_those_of_the_records_and_unknown_for_a_refused_one() -> None:
    watch = DetectorWatch()
    watch.add(decision(at_ms=0), verdict())
    watch.skip()
    watch.add(decision(at_ms=2_500), verdict())
    assert (watch.seconds(0, 2), watch.seconds(0, 0)) == (2.5, 0.0)
    assert (watch.seconds(1, 2), watch.seconds(0, 1)) == (None, None)


def test_a_clock_that_goes_back_makes_no_wait_shorter_than_none() -> None:
    watch = DetectorWatch()
    watch.add(decision(at_ms=2_500), verdict())
    watch.add(decision(at_ms=0), verdict())
    assert watch.seconds(0, 1) == 0.0


def test_a_made_up_clock_tells_no_seconds() -> None:
    watch = DetectorWatch(timed=False)
    watch.add(decision(), verdict())
    watch.add(decision(at_ms=10_000), verdict())
    assert watch.seconds(0, 1) is None


def test_a_record_without_tokens_is_not_one_that_used_none() -> None:
    watch = DetectorWatch()
    for state_delta in ({"tokens_consumed": 7.0}, {}, {"tokens_consumed": 0.0}, {"tokens_consumed": None}):
        watch.add(decision(**state_delta), verdict())
    assert watch.tokens == {0: 7, 2: 0}


def test_the_verdict_is_asked_by_level_and_by_rule() -> None:
    watch = watched(
        ("search", verdict()),
        ("search", verdict(fire("R2", 2, 2), fire("R2", 2, 4), level="WARNING")),
        ("search", verdict(fire("R1", 4, 1, "LOOP"), fire("R9", 4), level="LOOP")),
        ("search", verdict(level="LOOP")),
    )
    assert watch.raised["verdict-warning"] == {"R1": {2}, "R2": {1}, "R9": {2}}
    assert watch.raised["verdict-loop"] == {"R1": {2}}
    assert watch.positions("episode-warning") == {1, 2, 3}
    assert watch.positions("episode-loop") == {2, 3}


def test_a_record_that_is_not_judged_fires_nothing_and_leaves_the_episode_open() -> None:
    watch = watched(("search", verdict(fire("R1", 3), level="WARNING")), ("search", UNSEEN))
    assert watch.positions("verdict-warning") == {0}
    assert watch.positions("episode-warning") == {0, 1}


@pytest.mark.parametrize(
    ("tools", "fired", "named"),
    [
        # Four equal records: all but the first.
        ("aaaa", fire("R1", 4, 1), {1, 2, 3}),
        # a b a b a b: all but the first pair.
        ("ababab", fire("R2", 3, 2), {2, 3, 4, 5}),
        # abcdefgh twice: all but the first time round.
        ("abcdefghabcdefgh", fire("R2", 2, 8), set(range(8, 16))),
        # Four looks of a tool, others between: the other tools are not named.
        ("abacbaa", fire("R9", 4), {2, 5, 6}),
    ],
)
def test_the_evidence_names_all_but_the_first_instance(
    tools: str, fired: dict[str, Any], named: set[int]
) -> None:
    quiet = [(tool, verdict()) for tool in tools[:-1]]
    watch = watched(*quiet, (tools[-1], verdict(fired)))
    assert watch.positions("evidence") == named
    assert watch.positions("verdict-warning") == {len(tools) - 1}


def test_the_stuck_score_names_what_raised_it_since_its_onset() -> None:
    points = [0, 2, -1, 0.5, 1]
    blocks = [
        {"verdict": {**verdict()["verdict"], "stuck": {"kind": "back", "points": each}}} for each in points
    ]
    blocks[-1]["verdict"]["fired"] = [fire("R7", 2)]
    watch = watched(*(("search", block) for block in blocks))
    assert watch.positions("evidence") == {3, 4}


def test_the_evidence_passes_over_records_that_were_not_judged() -> None:
    watch = watched(
        ("search", verdict()),
        ("search", UNSEEN),
        ("search", verdict()),
        ("search", verdict(fire("R1", 3, 1))),
    )
    assert watch.positions("evidence") == {2, 3}


def test_every_detector_answers_what_the_pipeline_reports() -> None:
    stream, watch = Stream(), DetectorWatch()
    for number in range(6):
        outcome = stream.scored(decision_log("again", "run_tests", number=number, error="one failed"))
        watch.add(outcome.decision, outcome.enriched["eddy"])
    raised = {name: min(watch.positions(name), default=None) for name in DETECTORS}
    assert raised == {
        "baseline": 1,
        "same-result-3": 2,
        "long-25": None,
        "long-35": None,
        "seen-before": 1,
        "stuck-step": 1,
        "entropy-warning": 2,
        "entropy-loop": 4,
        "repeat": 2,
        "patterns": 2,
        "loop": 1,
        "drift": None,
        "verdict-warning": 2,
        "verdict-loop": 3,
        "episode-warning": 2,
        "episode-loop": 3,
        "evidence": 1,
    }

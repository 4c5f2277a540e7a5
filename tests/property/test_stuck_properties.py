"""The stuck score of any stream: bounded, of closed kinds, and the sum of what its records add (6.5b)."""

from typing import Any

from hypothesis import given

from streams.core.detectors.verdict.step import POINTS, StepKind
from streams.core.detectors.verdict.stuck import MOST
from streams.core.domain.outcome import Scored
from tests.property.test_pipeline_properties import play
from tests.streams_strategy import Entry, partitions


def verdicts(entries: list[Entry]) -> list[tuple[str, dict[str, Any], list[dict[str, Any]]]]:
    records = [outcome.enriched for outcome in play(entries) if isinstance(outcome, Scored)]
    return [(each["session_id"], each["eddy"]["verdict"], each["eddy"]["events"]) for each in records]


@given(partitions())
def test_every_judged_record_has_one_kind_and_no_other_record_has_any(entries: list[Entry]) -> None:
    for _, verdict, _ in verdicts(entries):
        assert (verdict["stuck"] is not None) == verdict["visible"]
        if verdict["visible"]:
            kind = StepKind(verdict["stuck"]["kind"])
            allowed = {POINTS[kind], 0.0} if kind is StepKind.AGAIN else {POINTS[kind]}
            assert verdict["stuck"]["points"] in allowed


@given(partitions())
def test_the_score_is_what_the_records_add_kept_between_its_bounds(entries: list[Entry]) -> None:
    scores: dict[str, float] = {}
    for session_id, verdict, _ in verdicts(entries):
        stuck = verdict["stuck"]
        if verdict["why"] == "round":
            # A further record of a round may lower it.
            scores.pop(session_id, None)
        if stuck is None:
            continue
        score = stuck["score"]
        assert 0 <= score <= MOST
        assert (4 * score).is_integer()
        if stuck["kind"] == StepKind.FIRST:
            scores[session_id] = 0.0
        # A session that ended may begin with a record that waits.
        if stuck["kind"] != StepKind.WAITING and session_id in scores:
            assert score == min(MOST, max(0.0, scores[session_id] + stuck["points"]))
        scores[session_id] = score


@given(partitions())
def test_r7_fires_only_with_a_record_that_raises_the_score(entries: list[Entry]) -> None:
    for _, verdict, _ in verdicts(entries):
        if "R7" in {each["rule"] for each in verdict["fired"] or ()}:
            assert verdict["stuck"]["points"] > 0
            assert verdict["stuck"]["score"] > 0


@given(partitions())
def test_the_evidence_of_r7_counts_every_kind_and_no_other_rule_has_any(entries: list[Entry]) -> None:
    for _, _, events in verdicts(entries):
        for event in events:
            if event["event_type"] == "loop_episode":
                assert (event["stuck"] is not None) == (event["rule"] == "R7")
                if event["stuck"] is not None:
                    kinds = event["stuck"]["kinds"]
                    raising = {kind for kind in kinds if POINTS[StepKind(kind)] > 0}
                    assert sum(kinds[kind] for kind in raising) >= event["count"] > 0
                    assert kinds.keys() <= {*StepKind}


def test_the_points_are_multiples_of_a_quarter_so_that_sums_are_exact() -> None:
    assert {*POINTS} == {*StepKind}
    assert all((4 * points).is_integer() for points in POINTS.values())

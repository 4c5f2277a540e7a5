"""Sequences are what a person would write down, are made lazily, and give way to what else is set."""

from itertools import islice, pairwise

import pytest

from streams.core.detectors.settings import DEFAULTS, DetectionSettings
from streams.core.domain.reachability import Reachability
from streams.core.domain.validation import problems
from streams.core.domain.witness import Obstacle, Witness
from streams.core.policy.reachability import reachability
from streams.core.policy.witness.sequence import witness
from streams.core.proof import ProofFinding, prove
from streams.core.settings_document.document import resolve


def under(**changes: object) -> DetectionSettings:
    settings, warnings = resolve(changes, DEFAULTS, 1)
    assert not warnings
    return settings


def row(settings: DetectionSettings, rule: str, level: str = "WARNING") -> Reachability:
    (found,) = (each for each in reachability(settings) if (each.rule, each.level) == (rule, level))
    return found


def sequence(settings: DetectionSettings, rule: str, level: str = "WARNING") -> Witness:
    found = witness(row(settings, rule, level), settings)
    assert isinstance(found, Witness), found
    return found


def obstacle(settings: DetectionSettings, rule: str, level: str = "WARNING") -> str:
    found = witness(row(settings, rule, level), settings)
    assert isinstance(found, Obstacle), found
    return found.why


def test_every_record_is_a_valid_decision_log():
    for each in reachability(DEFAULTS):
        if each.reachable:
            for value in sequence(DEFAULTS, each.rule, each.level).values():
                assert list(problems(value)) == []


def test_the_records_have_ids_and_times_of_their_own():
    values = list(sequence(DEFAULTS, "R1", "LOOP").values())
    assert len({value["event_id"] for value in values}) == len(values) == 4
    times = [value["meta"]["timestamp"] for value in values]
    assert times == sorted(set(times))


def test_a_sequence_reads_like_the_rule():
    actions = [value["action"] for value in sequence(DEFAULTS, "A3:edit_revert").values()]
    assert [(action["tool_call"], action["content_hash"]) for action in actions] == [
        ("edit_file", "a"),
        ("edit_file", "b"),
        ("edit_file", "a"),
    ]


def test_a_long_sequence_is_made_only_as_far_as_it_is_read():
    found = sequence(under(pattern_alpha=1e-9), "A3:escalation")
    assert found.records > 10**8
    assert len(list(islice(found.values(), 3))) == 3


def test_what_cannot_be_reached_has_no_sequence():
    settings = under(entropy_window_size=4)
    with pytest.raises(ValueError, match="A1 cannot reach LOOP"):
        witness(row(settings, "A1", "LOOP"), settings)


@pytest.mark.parametrize(
    ("changes", "most"),
    [
        ({"poll_gap_ms": 1}, 0),
        ({"poll_gap_ms": 900}, 899),
        ({"failure_gap_ms": 1}, 0),
        ({"failure_gap_ms": 900}, 899),
        ({"session_ttl_ms": 1}, 1),
    ],
)
@pytest.mark.parametrize("rule", ["R1", "R1:failing", "R2:longer"])
def test_records_come_fast_enough_not_to_count_as_polling_or_as_another_session(changes, most, rule):
    times = [value["meta"]["timestamp"] for value in sequence(under(**changes), rule).values()]
    assert all(0 <= later - earlier <= most for earlier, later in pairwise(times))


def test_looks_are_as_far_apart_as_the_minutes_they_wait_and_no_further_than_a_session_lives():
    def times(level, **changes):
        return [value["meta"]["timestamp"] for value in sequence(under(**changes), "R9", level).values()]

    assert [later - earlier for earlier, later in pairwise(times("WARNING"))] == [300_000, 300_000]
    short = times("LOOP", session_ttl_ms=700_000)
    assert short[-1] - short[0] == 3_600_000
    assert all(later - earlier <= 700_000 for earlier, later in pairwise(short))


@pytest.mark.parametrize(
    ("changes", "rule", "level", "why"),
    [
        ({"score_statuses": []}, "A1", "LOOP", "score_statuses"),
        ({"score_statuses": []}, "A5", "ASK_USER", "score_statuses"),
        ({"score_statuses": ["success"]}, "A3:test_fail_loop", "WARNING", "score_statuses lacks failure"),
        ({"score_statuses": ["failure"]}, "A3:edit_revert", "WARNING", "score_statuses lacks success"),
        ({"read_tools": []}, "A3:read_loop", "WARNING", "read_tools"),
        ({"write_tools": ["*"]}, "A3:test_fail_loop", "WARNING", "neither write_tools nor read_tools"),
        (
            {"read_tools": [], "write_tools": [], "command_tools": []},
            "A3:escalation",
            "WARNING",
            "none of the patterns",
        ),
        ({"verdict_statuses": ["success"]}, "R1:failing", "LOOP", "verdict_statuses"),
        ({"verdict_statuses": ["failure"]}, "R1", "LOOP", "verdict_statuses"),
        ({"verdict_statuses": []}, "R2:longer", "LOOP", "verdict_statuses"),
        ({"verdict_statuses": []}, "R7", "LOOP", "verdict_statuses"),
        # No failure adds as little as a quarter.
        (
            {"verdict_statuses": ["failure"], "stuck_warn": 0.25, "stuck_loop": 0.5},
            "R7",
            "WARNING",
            "adds so little",
        ),
        (
            {"tool_policies": {"*": {"mode": "exempt"}}, "stuck_warn": 0.5, "stuck_loop": 1},
            "R7",
            "WARNING",
            "no action was found",
        ),
        ({"verdict_statuses": []}, "R9", "LOOP", "verdict_statuses"),
        ({"tool_policies": {"*": {"mode": "exempt"}}}, "R9", "LOOP", "tool_policies"),
    ],
)
def test_other_settings_in_the_way_are_named(changes, rule, level, why):
    assert why in obstacle(under(**changes), rule, level)


def test_where_every_tool_has_a_policy_a_thought_is_repeated_instead():
    settings = under(tool_policies={"*": {"mode": "exempt"}})
    (first, *_) = sequence(settings, "R1").values()
    assert first["cognition"] == {"intent": "think it over"}
    assert first["action"] == {"status": "success", "tool_output_summary": "three rows about pricing"}


@pytest.mark.parametrize("mode", ["exempt", "polling"])
def test_what_is_thought_again_and_again_makes_the_rules_fire(mode):
    settings = under(tool_policies={"*": {"mode": mode}})
    proofs = [each for each in prove(settings) if each.row.rule.startswith(("R1", "R2", "R7"))]
    assert {each.finding for each in proofs} == {ProofFinding.PROVEN}
    assert not [value for each in proofs for value in each.witness.values() if "tool_call" in value["action"]]


def test_where_the_tool_that_waits_is_exempt_one_that_may_poll_is_asked():
    settings = under(tool_policies={"wait": {"mode": "exempt"}, "get_*": {"mode": "polling"}})
    assert {value["action"]["tool_call"] for value in sequence(settings, "R9").values()} == {"get_file"}
    (proof,) = [each for each in prove(settings) if (each.row.rule, each.row.level) == ("R9", "LOOP")]
    assert proof.finding is ProofFinding.PROVEN


def test_an_escalation_takes_the_pattern_that_starts_soonest():
    assert sequence(under(pattern_theta=9), "A3:escalation").records == 2 + 2
    assert sequence(under(pattern_theta=2), "A3:escalation").records == 1 + 2


@pytest.mark.parametrize("statuses", [["success"], ["failure"], ["pending", "failure"]])
@pytest.mark.parametrize(
    ("band", "records"),
    [
        ((3.0, 5.0), 3),
        ((3.5, 4.0), None),
        ((2.5, 3.0), None),
        ((1.5, 2.0), None),
        ((3.25, 3.5), None),
        ((1.75, 2.0), None),
    ],
)
def test_a_stuck_score_between_two_limits_is_reached_by_steps_of_other_kinds(
    statuses: list[str], band: tuple[float, float], records: int | None
) -> None:
    settings = under(verdict_statuses=statuses, stuck_warn=band[0], stuck_loop=band[1])
    (proof,) = [each for each in prove(settings) if (each.row.rule, each.row.level) == ("R7", "WARNING")]
    assert (proof.finding, proof.why) == (ProofFinding.PROVEN, "")
    assert proof.witness is not None
    assert (proof.witness.records == proof.row.shortest) is (records is not None)


def test_a_response_may_need_more_records_than_the_table_says():
    assert row(DEFAULTS, "A5", "ASK_USER").shortest == 1
    assert sequence(DEFAULTS, "A5", "ASK_USER").records == 2


@pytest.mark.parametrize(
    ("weights", "records"),
    [
        ((1, 0, 0, 0, 0), 1),
        ((0, 1, 0, 0, 0), 2),
        ((0, 0, 0, 1, 0), 2),
        ((0, 0, 0, 0, 1), 18),
    ],
)
def test_a_response_takes_as_long_as_the_signals_it_weighs(weights, records):
    settings = under(signal_weights=dict(zip(DEFAULTS.signal_weights, weights, strict=True)))
    assert sequence(settings, "A5", "ASK_USER").records == records


def test_a_response_between_two_values_of_the_signals_is_not_reached():
    weights = {**dict.fromkeys(DEFAULTS.signal_weights, 0), "loop_risk": 1}
    settings = under(signal_weights=weights)
    assert "between 0.3 and 0.5" in obstacle(settings, "A5", "INJECT_REMINDER")
    found = witness(row(settings, "A5", "INJECT_REMINDER"), settings)
    assert isinstance(found, Obstacle)
    assert not found.certain


def test_a_response_is_reached_by_progress_that_is_only_slow():
    weights = {**dict.fromkeys(DEFAULTS.signal_weights, 0), "budget_velocity": 1}
    (value,) = sequence(under(signal_weights=weights), "A5", "INJECT_REMINDER").values()
    assert 0 < value["state_delta"]["progress_delta"] < DEFAULTS.min_velocity


def test_a_response_that_weights_cannot_add_up_to_is_not_reached():
    weights = {**dict.fromkeys(DEFAULTS.signal_weights, 0), "loop_risk": 1}
    settings = under(signal_weights=weights, enable_all_strategies=False, exact_hash_threshold=11)
    assert "cannot add up to stop_threshold" in obstacle(settings, "A5", "ASK_USER")

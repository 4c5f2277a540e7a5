"""Sequences are what a person would write down, are made lazily, and give way to what else is set."""

from dataclasses import replace
from itertools import islice, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.core.detectors.settings import DEFAULTS, DetectionSettings
from streams.core.domain.number import r4
from streams.core.domain.validation import problems
from streams.core.domain.witness import Obstacle, Reachability, Witness
from streams.core.policy.witness import reachability, witness
from streams.core.proof import ProofFinding, prove
from streams.core.settings_document import resolve
from tests.quoted_detectors import is_quoted


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


# specification 4.3 under the defaults: the shortest sequence, None where the level cannot be reached.
DEFAULT_ROWS = [
    ("A1", "LOOP", 5),
    ("A1", "WARNING", 3),
    ("A2:tool", "WARNING", 3),
    ("A2:llm", "WARNING", 5),
    ("A2:system", "WARNING", None),
    ("A2:default", "WARNING", None),
    ("A3:read_loop", "WARNING", 3),
    ("A3:edit_revert", "WARNING", 3),
    ("A3:test_fail_loop", "WARNING", 3),
    ("A3:escalation", "WARNING", 2),
    ("A4:exact_hash", "WARNING", 2),
    ("A4:semantic", "WARNING", 2),
    ("A4:oscillation", "WARNING", 6),
    ("A4:dead_end", "WARNING", 5),
    ("A5", "INJECT_REMINDER", 1),
    ("A5", "SUMMARIZE_REPLAN", 1),
    ("A5", "CHECKPOINT_RESET", 1),
    ("A5", "ASK_USER", 1),
    ("R1", "WARNING", 3),
    ("R1", "LOOP", 4),
    ("R1:failing", "WARNING", 3),
    ("R1:failing", "LOOP", 4),
    ("R2:period2", "WARNING", 4),
    ("R2:period2", "LOOP", 6),
    ("R2:period3", "WARNING", 6),
    ("R2:period3", "LOOP", 9),
    ("R2:period4", "WARNING", 8),
    ("R2:period4", "LOOP", 12),
    ("R2:period5", "WARNING", 10),
    ("R2:period5", "LOOP", 15),
    ("R2:longer", "WARNING", 12),
    ("R2:longer", "LOOP", 18),
    ("R7", "WARNING", 3),
    ("R7", "LOOP", 4),
    ("R9", "WARNING", 3),
    ("R9", "LOOP", 3),
]


def test_the_table_under_the_defaults():
    found = [(each.rule, each.level, each.shortest) for each in reachability(DEFAULTS)]
    assert [row for row in found if is_quoted(row[0])] == DEFAULT_ROWS


def test_under_the_defaults_nothing_needs_a_warning():
    assert all(each.reachable or each.disabled for each in reachability(DEFAULTS))


@pytest.mark.parametrize(
    ("changes", "rule", "level", "shortest"),
    [
        ({"entropy_window_size": 3}, "A1", "LOOP", None),
        ({"entropy_window_size": 4}, "A1", "LOOP", None),
        ({"entropy_window_size": 3}, "A1", "WARNING", 3),
        ({"entropy_window_size": 2}, "A1", "WARNING", None),
        ({"entropy_loop_threshold": 0.0}, "A1", "LOOP", None),
        ({"entropy_loop_threshold": 0.0}, "A1", "WARNING", 3),
        ({"entropy_loop_threshold": 0.5}, "A1", "LOOP", 3),
        ({"entropy_loop_threshold": 0.5}, "A1", "WARNING", None),
        ({"entropy_loop_threshold": 1.0, "entropy_warning_threshold": 1.0}, "A1", "LOOP", 2),
        ({"entropy_loop_threshold": 0.41, "entropy_warning_threshold": 0.45}, "A1", "WARNING", None),
        ({"entropy_loop_threshold": 0.3333, "entropy_warning_threshold": 0.3334}, "A1", "WARNING", 3),
        ({"entropy_loop_threshold": 0.33331, "entropy_warning_threshold": 0.3334}, "A1", "WARNING", None),
        ({"repeat_ring_size": 2}, "A2:tool", "WARNING", None),
        ({"repeat_ring_size": 3}, "A2:tool", "WARNING", 3),
        ({"repeat_ring_size": 1000}, "A2:system", "WARNING", 999),
        ({"pattern_theta": 20}, "A3:read_loop", "WARNING", 20),
        ({"pattern_theta": 21}, "A3:read_loop", "WARNING", None),
        ({"pattern_theta": 21}, "A3:test_fail_loop", "WARNING", None),
        ({"pattern_theta": 21}, "A3:edit_revert", "WARNING", 3),
        ({"pattern_saturation": 1.0}, "A3:escalation", "WARNING", None),
        ({"pattern_saturation": 0.51}, "A3:escalation", "WARNING", 3),
        ({"pattern_saturation": 0.99999}, "A3:escalation", "WARNING", 28),
        ({"pattern_alpha": 1.0}, "A3:escalation", "WARNING", 1),
        ({"pattern_alpha": 1e-20}, "A3:escalation", "WARNING", None),
        ({"exact_hash_threshold": 10}, "A4:exact_hash", "WARNING", 10),
        ({"exact_hash_threshold": 11}, "A4:exact_hash", "WARNING", None),
        ({"oscillation_threshold": 5}, "A4:oscillation", "WARNING", 10),
        ({"oscillation_threshold": 6}, "A4:oscillation", "WARNING", None),
        ({"loop_window_size": 4}, "A4:dead_end", "WARNING", None),
        ({"loop_window_size": 2}, "A4:semantic", "WARNING", 2),
        ({"identical_warn": 4}, "R1", "WARNING", None),
        ({"identical_warn": 4}, "R1", "LOOP", 4),
        ({"identical_failing_loop": 3}, "R1:failing", "WARNING", None),
        ({"identical_failing_loop": 3}, "R1:failing", "LOOP", 3),
        ({"identical_failing_warn": 2}, "R1:failing", "WARNING", 2),
        ({"cycle_warn": 3}, "R2:period4", "WARNING", None),
        ({"cycle_warn": 3}, "R2:period4", "LOOP", 12),
        ({"cycle_max_period": 3}, "R2:period3", "LOOP", 9),
        ({"cycle_max_period": 3}, "R2:period4", "LOOP", None),
        ({"cycle_max_period": 5}, "R2:longer", "LOOP", None),
        ({"cycle_max_period": 6}, "R2:longer", "LOOP", 18),
        ({"cycle_warn": 3}, "R2:longer", "WARNING", None),
        ({"cycle_warn": 4, "cycle_loop": 5}, "R2:longer", "WARNING", 24),
        ({"verdict_rules": ["R1"]}, "R2:period2", "LOOP", None),
        ({"verdict_rules": ["R1"]}, "R1", "LOOP", 4),
        ({"stuck_warn": 0.5, "stuck_loop": 8}, "R7", "WARNING", 2),
        ({"stuck_warn": 0.5, "stuck_loop": 8}, "R7", "LOOP", 5),
        ({"stuck_warn": 5}, "R7", "WARNING", None),
        ({"stuck_warn": 3.1, "stuck_loop": 3.2}, "R7", "WARNING", None),
        ({"stuck_warn": 3.1, "stuck_loop": 3.25}, "R7", "WARNING", None),
        ({"stuck_warn": 3.1, "stuck_loop": 3.3}, "R7", "WARNING", 3),
        ({"stuck_warn": 3.1, "stuck_loop": 3.2}, "R7", "LOOP", 3),
        ({"waiting_warn_minutes": 60}, "R9", "WARNING", None),
        ({"waiting_warn_minutes": 60}, "R9", "LOOP", 3),
        ({"session_ttl_ms": 0}, "R9", "LOOP", 3),
        ({"session_ttl_ms": 600_000}, "R9", "WARNING", 3),
        ({"session_ttl_ms": 600_000}, "R9", "LOOP", 7),
        ({"session_ttl_ms": 299_999}, "R9", "WARNING", 4),
        ({"verdict_rules": ["R9"]}, "R7", "LOOP", None),
    ],
)
def test_shortest_sequence(changes, rule, level, shortest):
    found = row(under(**changes), rule, level)
    assert found.shortest == shortest
    assert found.reachable is (shortest is not None)


@pytest.mark.parametrize(
    ("changes", "rules"),
    [
        (
            {"verdict_enabled": False},
            {"R1", "R1:failing", "R2:period2", "R2:period5", "R2:longer", "R7", "R9"},
        ),
        ({"verdict_rules": ["R2"]}, {"R1", "R1:failing", "R7", "R9"}),
        ({"verdict_rules": ["R1"]}, {"R2:period2", "R2:period5", "R2:longer", "R7", "R9"}),
        ({"enable_all_strategies": False}, {"A4:semantic", "A4:oscillation", "A4:dead_end"}),
        ({}, {"A2:system", "A2:default"}),
    ],
)
def test_what_is_off_on_purpose_is_disabled(changes, rules):
    rows = [each for each in reachability(under(**changes)) if each.rule in rules]
    assert {each.rule for each in rows} == rules
    assert all(each.disabled and not each.reachable for each in rows)


def test_a_rule_that_was_not_asked_for_has_rows_all_the_same():
    asked = under(verdict_rules=["R9"])
    found = [(each.rule, each.level) for each in reachability(asked) if is_quoted(each.rule)]
    assert found == [row[:2] for row in DEFAULT_ROWS]
    assert [row(asked, "R9", level).shortest for level in ("WARNING", "LOOP")] == [3, 3]


def test_a_rule_that_can_fire_is_never_disabled():
    assert not row(under(repeat_ring_size=999), "A2:system").disabled
    assert row(under(enable_all_strategies=False), "A4:exact_hash").reachable


@pytest.mark.parametrize(
    ("changes", "rule", "level", "why"),
    [
        ({"entropy_window_size": 4}, "A1", "LOOP", "entropy_window_size"),
        ({"repeat_ring_size": 2}, "A2:tool", "WARNING", "repeat_thresholds.tool > repeat_ring_size"),
        ({"pattern_theta": 21}, "A3:read_loop", "WARNING", "pattern_theta > pattern_window"),
        (
            {"oscillation_threshold": 6},
            "A4:oscillation",
            "WARNING",
            "2 x oscillation_threshold > loop_window_size",
        ),
        ({"identical_warn": 4}, "R1", "WARNING", "identical_warn = identical_loop"),
        ({"cycle_max_period": 3}, "R2:period4", "LOOP", "cycle_max_period < 4"),
        ({"stuck_warn": 5}, "R7", "WARNING", "stuck_warn = stuck_loop"),
        ({"stuck_warn": 3.1, "stuck_loop": 3.2}, "R7", "WARNING", "no multiple of 0.25"),
        ({"cycle_max_period": 5}, "R2:longer", "LOOP", "cycle_max_period < 6"),
        (
            {"waiting_warn_minutes": 60},
            "R9",
            "WARNING",
            "waiting_warn_minutes = waiting_loop_minutes",
        ),
    ],
)
def test_what_cannot_fire_by_accident_names_the_settings_in_the_way(changes, rule, level, why):
    found = row(under(**changes), rule, level)
    assert not found.disabled
    assert why in found.why


def test_every_kind_with_a_threshold_has_a_row():
    thresholds = {"tool": 3, "llm": 5, "system": 999, "default": 999, "memory_read": 2}
    assert row(under(repeat_thresholds=thresholds), "A2:memory_read").shortest == 2


THRESHOLDS = st.tuples(st.floats(0, 1), st.floats(0, 1)).map(sorted)
NARROW = st.tuples(st.integers(1, 80), st.integers(80, 160)).map(
    lambda r: (r4(r[0] / r[1]), r4(r[0] / r[1]) + 1e-4)
)


@given(st.integers(1, 160), THRESHOLDS | NARROW)
def test_uniqueness_against_every_ratio(window, thresholds):
    loop, warning = thresholds
    settings = replace(
        DEFAULTS, entropy_window_size=window, entropy_loop_threshold=loop, entropy_warning_threshold=warning
    )
    ratios = [(n, r4(u / n)) for n in range(1, window + 1) for u in range(1, n + 1)]
    assert row(settings, "A1", "LOOP").shortest == next((n for n, ratio in ratios if ratio < loop), None)
    in_band = (n for n, ratio in ratios if loop <= ratio < warning)
    assert row(settings, "A1", "WARNING").shortest == next(in_band, None)


@given(st.floats(0.01, 1), st.floats(0, 0.99999))
def test_escalation_against_the_average_itself(alpha, saturation):
    settings = replace(DEFAULTS, pattern_alpha=alpha, pattern_saturation=saturation)
    shortest = row(settings, "A3:escalation").shortest
    averages = [0.0]
    for _ in range(shortest):
        averages.append(alpha * 1 + (1 - alpha) * averages[-1])
    assert all(r4(average) <= saturation for average in averages[:-1])
    assert r4(averages[-1]) > saturation


def test_a_slow_average_is_estimated_and_grows_with_slowness():
    needed = [
        row(under(pattern_alpha=alpha), "A3:escalation").shortest for alpha in (1e-5, 1e-6, 1e-9, 1e-12)
    ]
    assert all(slow > 9 * fast for fast, slow in pairwise(needed))


def test_the_longest_windows_take_no_time_worth_noticing():
    settings = under(entropy_window_size=1000, entropy_loop_threshold=0.5, entropy_warning_threshold=0.5)
    assert row(settings, "A1").shortest is None

"""A1 beyond FRD-009: the other figures, the quiet profile, and the texts it keeps."""

import math
from typing import Any

import pytest

from streams.core.detectors.settings import DEFAULTS
from streams.core.detectors.uniqueness.detector import Uniqueness
from streams.core.domain.decision import Decision
from tests.stream import Stream, block, decision_log, repeated, told

QUIET = {"node_state_source": "max", "alert_every_record": False, "topology_every_record": False}


def named(letters: str, **fields: Any) -> list[dict[str, Any]]:
    return [decision_log(letter, number=number, **fields) for number, letter in enumerate(letters)]


def reasons(stream: Stream, values: list[dict[str, Any]]) -> list[str]:
    return [
        alert["reason"] if alert else "-"
        for outcome in stream.run(values)
        for alert in told(outcome, "entropy_alert") or [None]
    ]


@pytest.mark.parametrize(
    ("letters", "window", "score", "severity"),
    [
        ("a", 5, 1.0, "NORMAL"),
        ("aa", 5, 0.5, "NORMAL"),
        ("aaa", 5, 0.3333, "WARNING"),
        ("aaaa", 5, 0.25, "WARNING"),
        ("aaaaa", 5, 0.2, "LOOP"),
        ("aaaba", 5, 0.4, "WARNING"),
        ("aaaaab", 5, 0.4, "WARNING"),
        ("abababab", 5, 0.4, "WARNING"),
        ("abcabcabc", 5, 0.6, "NORMAL"),
        ("ababababa", 10, 0.2222, "LOOP"),
        ("ababababab", 10, 0.2, "LOOP"),
    ],
)
def test_the_table_of_the_specification(letters: str, window: int, score: float, severity: str) -> None:
    seen = block(Stream(entropy_window_size=window).run(named(letters))[-1], "uniqueness")
    assert (seen["score"], seen["severity"]) == (score, severity)


def test_the_other_figures_of_a_window() -> None:
    seen = block(Stream().run(named("aabc"))[-1], "uniqueness")
    assert seen["entropy_normalised"] == 0.6667
    assert seen["shannon_bits"] == 1.5
    assert seen["shannon_normalised"] == 0.75


def test_the_figures_of_a_window_of_one_and_of_a_pure_loop() -> None:
    outcomes = Stream().run(named("aaaaa"))
    figures = [
        (seen["entropy_normalised"], seen["shannon_bits"], seen["shannon_normalised"])
        for seen in (block(outcomes[0], "uniqueness"), block(outcomes[-1], "uniqueness"))
    ]
    assert figures == [(1.0, 0.0, 1.0), (0.0, 0.0, 0.0)]
    assert all(math.copysign(1, number) == 1 for row in figures for number in row)


@pytest.mark.parametrize(
    ("letters", "pattern", "count"),
    [("abcde", "e", 1), ("aabcd", "a", 2), ("abacb", "b", 2), ("abbac", "a", 2), ("aaaab", "a", 4)],
)
def test_the_most_frequent_pattern_of_equals_the_newest(letters: str, pattern: str, count: int) -> None:
    seen = block(Stream().run(named(letters))[-1], "uniqueness")
    assert seen["repeated_pattern"]["intent"] == pattern
    assert seen["occurrence_count"] == count


def test_the_quiet_profile_beats_after_so_many_loop_records() -> None:
    stream = Stream(**QUIET, alert_heartbeat_records=3)
    assert reasons(stream, repeated(12)) == [*"----", "entered", *"--", "heartbeat", *"--", "heartbeat", "-"]


def test_no_heartbeat_when_it_is_off() -> None:
    stream = Stream(**QUIET, alert_heartbeat_records=0)
    assert reasons(stream, repeated(30)).count("-") == 29


def test_records_without_an_agent_are_no_beat() -> None:
    stream = Stream(**QUIET, alert_heartbeat_records=2)
    stream.run(repeated(5))
    blank = repeated(5, agent="")
    assert reasons(stream, blank) == ["-"] * 5
    assert reasons(stream, repeated(2)) == ["-", "heartbeat"]


def test_leaving_the_loop_without_an_agent_counts_as_leaving() -> None:
    stream = Stream()
    stream.run(repeated(5))
    stream.run([decision_log("other", agent="")])
    assert reasons(stream, repeated(5)) == [*"----", "entered"]


def test_a_record_without_cognition_is_not_looked_at() -> None:
    stream = Stream()
    stream.run(repeated(4))
    outcome = stream.scored(decision_log(None))
    assert block(outcome, "uniqueness") is None
    assert block(outcome, "scoring_status") == "skipped:no_cognition"
    assert outcome.node_state == "blocked"
    assert block(stream.scored(decision_log()), "uniqueness")["score"] == 0.2


def test_the_threshold_is_compared_with_the_rounded_score() -> None:
    stream = Stream(entropy_loop_threshold=0.3333, entropy_warning_threshold=0.3334)
    assert block(stream.run(repeated(3))[-1], "uniqueness")["severity"] == "WARNING"


def test_long_texts_are_compared_whole_and_shown_cut() -> None:
    stream = Stream()
    outcomes = stream.run([decision_log("x" * 5000 + letter) for letter in "aab"])
    assert [block(outcome, "uniqueness")["score"] for outcome in outcomes] == [1.0, 0.5, 0.6667]
    shown = block(outcomes[1], "uniqueness")["repeated_pattern"]["intent"]
    assert shown.startswith("x" * 1024 + "…")
    assert len(shown) == 1041
    assert outcomes[0].enriched["cognition"]["intent"] == "x" * 5000 + "a"


def test_an_alert_quotes_the_verdict_that_was_given_before() -> None:
    verdict = {"level": "WARNING", "episode_id": "e1", "visible": True}
    detector = Uniqueness()
    state, findings = detector.fresh(), ()
    for at, value in enumerate(repeated(5)):
        observation = detector.observe(state, Decision.of(0, at, value), {"verdict": verdict}, DEFAULTS)
        assert observation is not None
        state, _, findings = observation
    (alert,) = findings
    assert (alert.fields["verdict_level"], alert.fields["episode_id"]) == ("WARNING", "e1")

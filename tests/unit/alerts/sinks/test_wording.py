"""One line says what loops, what it has cost and since when, whatever an agent is called."""

import pytest

from streams.alerts.sinks.wording import Wording, tally
from tests.unit.alerts.sinks.alerts import BEGAN_MS, CASES, NOW_MS, WORDS, alert, told

SAME_CALL = "Read: the same call with the same result, {} times in a row (R1)."
STUCK = "4 times an error it had seen, 3 times back to an earlier step, 2 new results in 14 steps (R7)"
SPENT = "Since 08:58:46 UTC (1 min 14 s), cost $0.42, 18,400 tokens."
UNKNOWN = "Read: a loop by a rule that this version of Eddy does not know (R99)"


@pytest.mark.parametrize(
    ("case", "line"),
    [
        ("loops", f"coder-19 is looping. {SAME_CALL.format(4)} {SPENT}"),
        ("may loop", f"coder-19 may be looping. {SAME_CALL.format(4)} {SPENT}"),
        ("still loops", f"coder-19 is still looping. {SAME_CALL.format(14)} {SPENT.replace('18,4', '60,0')}"),
        ("is over", f"coder-19 is out of the loop. {SAME_CALL.format(9)} {SPENT}"),
        ("ended in the loop", f"coder-19 ended in the loop. {SAME_CALL.format(4)} {SPENT}"),
        ("is back", f"coder-19 is looping again. {SAME_CALL.format(4)} {SPENT}"),
        (
            "a rule of a later version",
            f"coder-19 is looping. {UNKNOWN}. {SPENT}",
        ),
        ("stuck", f"coder-19 is stuck: {STUCK}. {SPENT}"),
        ("stuck again", f"coder-19 is stuck again: {STUCK}. {SPENT}"),
        ("out of being stuck", f"coder-19 is out of the loop. It was stuck: {STUCK}. {SPENT}"),
        (
            "no cost",
            f"coder-19 is looping. {SAME_CALL.format(4)} Since 08:58:46 UTC (1 min 14 s), cost not reported.",
        ),
    ],
)
def test_a_message_says_what_loops_since_when_and_what_it_cost(case: str, line: str) -> None:
    assert WORDS.line(CASES[case]) == line


def test_a_session_that_waits_in_vain_says_for_how_long() -> None:
    looks = {"rule": "R9", "period": None, "count": 12, "tools": ["BashOutput"]}
    times = {"first_timestamp": NOW_MS - 62 * 60_000, "last_timestamp": NOW_MS}
    assert "BashOutput: 12 looks, and nothing new for 62 minutes (R9). " in WORDS.line(
        told(alert(**looks, **times))
    )


def test_a_silent_session_says_when_its_last_step_came() -> None:
    silent = {"event_type": "silent_session", "limit_ms": 1_200_000, "habit_ms": 32_000}
    assert WORDS.line(told(alert("silent", **silent))) == (
        "coder-19: silent in the middle of its work: no step for 20 min 0 s, 95 of 100 come within "
        "32 s. Its last step came at 09:00:00 UTC."
    )
    assert WORDS.line(told(alert("spoke", **silent, silent_ms=1_860_000))) == (
        "coder-19: spoke again, 31 min 0 s after its last step. At 09:00:00 UTC."
    )


def test_who_overspends_says_what_it_has_spent_in_all() -> None:
    spending = {"event_type": "overspending", "rule": "cost", "spent": 6.0, "limit": 5.0}
    delivery = told(alert("over", **spending, tokens_since_onset=12_000, cost_since_onset=6.0))
    assert WORDS.line(delivery) == (
        "coder-19: has cost 6.00, its limit is 5.00. At 09:00:00 UTC, cost $6.00, 12,000 tokens in all."
    )
    assert tally([delivery]) == "1 more session overspends: coder-19 (s-1)"


def test_a_digest_tells_silent_sessions_from_those_that_loop() -> None:
    silent = told(alert("silent", session="s-2", event_type="silent_session", limit_ms=1_200_000))
    assert tally([told(alert()), silent]) == (
        "1 more session loops, 1 more session is silent: coder-19 (s-1), coder-19 (s-2)"
    )


def test_a_loop_that_began_on_another_day_says_which() -> None:
    delivery = told(alert(first_timestamp=BEGAN_MS - 86_400_000))
    assert "Since 2026-11-23 08:58:46 UTC (24 h 1 min)" in WORDS.line(delivery)


def test_a_cost_below_a_cent_is_not_zero() -> None:
    assert "cost $0.0042" in WORDS.line(told(alert(cost_since_onset=0.0042)))


def test_the_currency_is_that_of_the_settings() -> None:
    assert "cost €0.42" in Wording(currency="€").line(told(alert()))


def test_no_name_begins_a_line_of_its_own_or_hides_something() -> None:
    line = WORDS.line(told(alert(agent_id="a\nb\u202e", tools=["Re\x1b[2Jad"])))
    assert line.isprintable()
    assert line.startswith("a b\\u202e is looping.")


def test_without_a_console_there_is_no_link() -> None:
    assert Wording().link("s-1") is None
    assert Wording().inbox is None


def test_a_digest_counts_those_that_loop_and_those_that_no_longer_do() -> None:
    many = [told(alert(session=f"s-{number}")) for number in range(12)]
    over = told(alert(session="s-20"), alert("recovered", 9, session="s-20"))
    assert tally([*many, over]) == (
        "12 more sessions loop, 1 more session is out of the loop: coder-19 (s-0), coder-19 (s-1), "
        "coder-19 (s-2), coder-19 (s-3), coder-19 (s-4) and 8 more"
    )

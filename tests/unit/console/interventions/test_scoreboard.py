"""The scoreboard counts what did happen after each decision, and says what may go live."""

from typing import Any

import pytest

from streams.console.interventions.decided import decided
from streams.console.interventions.scoreboard import Fate, Score, outcomes, scores, unproven, without_steps
from streams.console.interventions.versions import PolicyVersion
from streams.console.read_model.rows import VersionRow
from streams.core.policy.intervention import Breaker, Do, Limits, Mode, Policy, Rule, When, Withheld
from tests.unit.console.interventions.test_decided import AT, RULE, acted, fields, later, over, row


@pytest.mark.parametrize(
    ("events", "fate", "records"),
    [
        ([fields("e")], Fate.OPEN, 0),
        ([fields("e"), later("e")], Fate.WENT_ON, 36),
        ([later("e", records=14)], Fate.OPEN, 10),
        ([over("e", 14)], Fate.RECOVERED, 10),
        ([over("e", 14, "terminal")], Fate.RECOVERED, 10),
        ([over("e", 14, "expired")], Fate.OPEN, 10),
        ([over("e", 15)], Fate.WENT_ON, 11),
        ([], Fate.UNKNOWN, 0),
    ],
)
def test_a_pause_that_was_not_is_judged_by_what_the_session_did(
    events: list[dict[str, Any]], fate: Fate, records: int
) -> None:
    [found] = outcomes(acted("e"), {"e": events})
    assert (found.fate, found.records) == (fate, records)


@pytest.mark.parametrize("order", [1, -1])
def test_an_episode_that_is_reopened_changes_nothing_about_what_came_before(order: int) -> None:
    again = later("e", offset=90, phase="escalated", reopened=True, records=2, tokens_since_onset=500)
    earlier = over("e", 30, offset=3)
    [looped] = outcomes(acted("e"), {"e": [earlier, fields("e"), over("e", 40), again][::order]})
    assert (looped.fate, looped.records, looped.tokens) == (Fate.WENT_ON, 36, 8_000)
    [vain] = outcomes(acted("e"), {"e": [earlier, fields("e"), over("e", 9), again][::order]})
    assert (vain.fate, vain.records, vain.tokens) == (Fate.RECOVERED, 5, 8_000)


def test_what_would_have_been_saved_is_what_sessions_that_looped_on_spent_since() -> None:
    known = acted("a", "b", "c")
    found = outcomes(known, {"a": [later("a")], "b": [over("b", 5)], "c": [later("c", records=9)]})
    [score] = scores(known, found)
    assert (score.acted, score.went_on, score.recovered, score.open, score.withheld) == (3, 1, 1, 1, 0)
    assert (score.tokens, score.cost) == (8_000, 1.5)


def test_a_cost_that_no_session_told_is_not_zero() -> None:
    known = acted("a")
    [score] = scores(known, outcomes(known, {"a": [later("a", cost_since_onset=None)]}))
    assert (score.tokens, score.cost) == (8_000, None)


def test_a_rule_that_was_held_back_saved_nothing() -> None:
    known = decided([row(Withheld(RULE, 0, "x", "its limit", Breaker.RULE), "e")])
    [score] = scores(known, outcomes(known, {"e": [later("e")]}))
    assert (score.acted, score.withheld, score.tokens) == (0, 1, 0)


def test_how_long_loops_took_to_end_is_the_median_of_those_that_did() -> None:
    known = acted("a", "b", "c", "d")
    events = {"a": [over("a", 7)], "b": [over("b", 34)], "c": [later("c")], "d": [over("d", 9, "expired")]}
    [score] = scores(known, outcomes(known, events))
    assert (score.ended, score.records_until_over, score.tokens_until_over) == (2, 16.5, 8_000)
    known = acted("c")
    [none] = scores(known, outcomes(known, {"c": [later("c")]}))
    assert (none.ended, none.records_until_over, none.tokens_until_over) == (0, None, None)


def test_loops_about_which_nobody_was_told_count_from_their_first_alert_at_loop() -> None:
    live = [each._replace(done=each.done._replace(live=True)) for each in acted("told")]
    warned = {**fields("e"), "level": "WARNING", "offset": 1, "records": 2, "tokens_since_onset": 10}
    events = {
        "told": [fields("told"), over("told", 9)],
        "dry": [over("dry", 34), fields("dry"), {**warned, "episode_id": "dry"}],
        "long": [fields("long"), later("long")],
        "lost": [fields("lost"), over("lost", 30, "expired")],
        "warned": [warned],
    }
    beside = without_steps([*live, *acted("dry")], events)
    assert (beside.acted, beside.ended, beside.open, beside.records_until_over) == (3, 1, 2, 30)


def shown(mode: Mode = Mode.DRY_RUN, version: int = 3, ignored: str = "", **changed: Any) -> PolicyVersion:
    after = Policy(version=version, mode=mode, rules=(changed.get("rule", RULE),))
    return PolicyVersion(VersionRow("p", version, AT, version, None, None, None, None), after, ignored)


SCORED = Score("costly", 3, False, acted=1, went_on=1)


@pytest.mark.parametrize(
    ("versions", "board", "may"),
    [
        ([shown()], [SCORED], True),
        ([shown()], [SCORED._replace(went_on=0, recovered=1)], True),
        ([shown(), shown(version=4)], [SCORED], True),
        ([shown()], [], False),
        ([shown()], [SCORED._replace(went_on=0, open=1)], False),
        ([shown()], [SCORED._replace(version=2)], False),
        ([shown(ignored="wrong")], [SCORED], False),
        ([shown(rule=Rule(name="costly", when=When(level="LOOP"), do=RULE.do))], [SCORED], False),
        ([shown(rule=Rule(name="costly", when=When(), do=(Do(action="inject_message"),)))], [SCORED], False),
        (
            [shown(rule=Rule(name="costly", when=When(), do=RULE.do, limits=Limits(per_10_min=1)))],
            [SCORED],
            True,
        ),
    ],
)
def test_a_rule_goes_live_only_as_its_dry_run_has_shown_it(
    versions: list[PolicyVersion], board: list[Score], *, may: bool
) -> None:
    problems = unproven(Policy(version=9, mode=Mode.LIVE, rules=(RULE,)), versions, board)
    assert (problems == []) is may
    assert all("'costly' has no scoreboard yet" in each for each in problems)

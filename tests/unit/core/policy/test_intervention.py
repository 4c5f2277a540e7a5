"""Automatic policies: the same decision anywhere, within every limit, and no document that surprises."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.core.detectors.verdict.settings import RULES
from streams.core.policy.intervention import (
    Breaker,
    Do,
    Done,
    EpisodeEvent,
    InterventionAct,
    Limits,
    Mode,
    Policy,
    PolicyLimits,
    PolicyTally,
    Rule,
    When,
    Withheld,
    decide,
)
from streams.core.policy.intervention_document import document, read

AT = 1_760_000_000_000
LIVE = 1_000


def rule(name: str = "costly", **given: Any) -> Rule:
    do = given.pop("do", (Do(action="pause"),))
    return Rule(name=name, when=When(**given.pop("when", {})), do=do, limits=Limits(**given))


def policy(*rules: Rule, mode: Mode = Mode.DRY_RUN, version: int = 3, **limits: int) -> Policy:
    return Policy(version=version, mode=mode, rules=rules, limits=PolicyLimits(**limits))


def done(episode: str = "e-1", at: int = AT, **given: Any) -> Done:
    told: dict[str, Any] = {"rule": "costly", "version": 3, "live": False, "agent_id": "coder-7"}
    return Done(**told | {"session_id": f"of {episode}"} | given, episode_id=episode, at=at)


def event(episode: str = "e-1", at: int = AT, **given: Any) -> EpisodeEvent:
    told: dict[str, Any] = {"agent_id": "coder-7", "task_type": "api", "phase": "escalated", "level": "LOOP"}
    told |= {"rule": "R1", "tokens": 20_000, "cost": 0.5, "session_id": f"of {episode}"}
    told |= {"tools": ("shell",), "records": 4, "minutes": 3.0, **given}
    return EpisodeEvent(**told, episode_id=episode, at=at)


def test_the_first_rule_that_is_about_an_event_decides() -> None:
    rules = rule("other", when={"rules": ("R7",)}), rule("first"), rule("second")
    found = decide(policy(*rules), event(), PolicyTally((), LIVE))
    assert isinstance(found, InterventionAct)
    assert found.rule.name == "first"


@pytest.mark.parametrize(
    ("when", "fits", "does_not"),
    [
        ({"phase": ("escalated",)}, {}, {"phase": "opened"}),
        ({"level": "LOOP"}, {}, {"level": "WARNING"}),
        ({"rules": ("R1", "R2")}, {"rule": "R2"}, {"rule": "R7"}),
        ({"min_tokens_since_onset": 20_000}, {}, {"tokens": 19_999}),
        ({"min_cost_since_onset": 0.5}, {}, {"cost": None}),
        ({"min_minutes_since_onset": 3}, {}, {"minutes": 2.9}),
        ({"agents": ("coder-*",)}, {}, {"agent_id": "writer-1"}),
        ({"tools": ("sh*", "x")}, {"tools": ("a", "shell")}, {"tools": ("a",)}),
        ({}, {"phase": "still_open"}, {"phase": "recovered"}),
        ({"task_types": ("api",)}, {}, {"task_type": None}),
        ({}, {}, {"spending": True, "rule": "cost"}),
        ({"spending": ("cost",)}, {"spending": True, "rule": "cost"}, {"spending": True, "rule": "kind"}),
        ({"spending": ("cost",)}, {"spending": True, "rule": "cost"}, {"rule": "cost"}),
        (
            {"spending": ("cost",), "min_cost_since_onset": 0.5},
            {"spending": True, "rule": "cost"},
            {"spending": True, "rule": "cost", "cost": 0.4},
        ),
    ],
)
def test_a_rule_is_about_what_it_names_and_nothing_else(
    when: dict[str, Any], fits: dict[str, Any], does_not: dict[str, Any]
) -> None:
    found = policy(rule(when=when))
    assert isinstance(decide(found, event(**fits), PolicyTally((), LIVE)), InterventionAct)
    assert decide(found, event(**does_not), PolicyTally((), LIVE)) is None


def test_a_policy_that_is_off_decides_nothing() -> None:
    assert decide(Policy(version=3, rules=(rule(),)), event(), PolicyTally((), LIVE)) is None


def test_what_was_done_about_an_episode_is_not_done_again() -> None:
    assert decide(policy(rule()), event(), PolicyTally((done(at=AT - 5_000),), LIVE)) is None


def test_one_session_is_never_too_large_a_share() -> None:
    found = policy(rule(max_share_of_live=0.05))
    assert isinstance(decide(found, event(), PolicyTally((), 3)), InterventionAct)
    held_back = decide(found, event(), PolicyTally((done("e-0", AT - 1_000),), 3))
    assert isinstance(held_back, Withheld)
    assert held_back.why == "2 of 3 live sessions would be more than 5%"


def test_a_limit_opens_the_breaker_for_as_long_as_the_version_is_in_force() -> None:
    found, before = policy(rule(per_10_min=1)), [done("e-0", AT - 1_000)]
    first = decide(found, event("e-1"), PolicyTally(before, LIVE))
    assert isinstance(first, Withheld)
    before.append(done("e-1", opened=first.opened))
    assert decide(found, event("e-1"), PolicyTally(before, LIVE)) is None
    much_later = event("e-2", AT + 86_400_000)
    second = decide(found, much_later, PolicyTally(before, LIVE))
    assert isinstance(second, Withheld)
    assert second.why == "its breaker is open"
    assert isinstance(decide(found, much_later, PolicyTally((), LIVE)), InterventionAct)
    next_version = policy(rule(per_10_min=1), version=4)
    assert isinstance(decide(next_version, much_later, PolicyTally(before, LIVE)), InterventionAct)


@pytest.mark.parametrize(
    ("limits", "opened", "others_go_on"),
    [
        ({"per_hour": 2}, Breaker.ALL, False),
        ({"per_hour_per_agent": 2}, Breaker.AGENT, True),
    ],
)
def test_too_many_steps_within_an_hour_stop_all_rules_or_those_of_an_agent(
    limits: dict[str, int], opened: Breaker, *, others_go_on: bool
) -> None:
    found = policy(rule(), rule("other", when={"agents": ("writer",)}), **limits)
    before = [done("e-0", AT - 3_000_000), done("e-1", AT - 1_000)]
    third = decide(found, event("e-2"), PolicyTally(before, LIVE))
    assert isinstance(third, Withheld)
    assert third.opened is opened
    before.append(done("e-2", opened=opened))
    other = decide(found, event("e-3", agent_id="writer"), PolicyTally(before, LIVE))
    assert isinstance(other, InterventionAct if others_go_on else Withheld)
    assert isinstance(decide(found, event("e-4"), PolicyTally(before, LIVE)), Withheld)


LADDER = (
    Do(action="inject_message"),
    Do(action="pause", after_records=10),
    Do(action="abort", after_records=20),
)


def test_a_ladder_is_climbed_as_the_loop_goes_on_and_no_step_comes_twice() -> None:
    found = policy(rule(when={"phase": ("escalated",)}, do=LADDER), mode=Mode.LIVE)
    before: list[Done] = []
    told = []
    for records in range(4, 80):
        phase = "escalated" if records == 4 else "still_open"
        decision = decide(found, event(records=records, phase=phase), PolicyTally(before, LIVE))
        if isinstance(decision, InterventionAct):
            told.append((records, decision.do.action, decision.command_id))
            before.append(done(live=True, step=decision.step, records=records))
    assert [(records, action) for records, action, _ in told] == [
        (4, "inject_message"),
        (14, "pause"),
        (34, "abort"),
    ]
    assert len({command_id for *_, command_id in told}) == 3


def test_a_loop_that_began_again_after_a_note_is_paused_at_once() -> None:
    found = policy(rule(do=LADDER), mode=Mode.LIVE)
    decision = decide(found, event(records=2), PolicyTally([done(live=True, records=30)], LIVE))
    assert isinstance(decision, InterventionAct)
    assert decision.do.action == "pause"


def test_a_version_that_follows_does_not_repeat_what_agents_were_told() -> None:
    before = [done(version=2, live=True)]
    assert decide(policy(rule(), mode=Mode.LIVE), event(), PolicyTally(before, LIVE)) is None
    higher = decide(policy(rule(do=LADDER), mode=Mode.LIVE), event(records=20), PolicyTally(before, LIVE))
    assert isinstance(higher, InterventionAct)
    assert higher.step == 1


def test_what_a_dry_run_decided_keeps_a_live_version_from_nothing() -> None:
    before = [done(version=2, live=False)]
    assert isinstance(
        decide(policy(rule(), mode=Mode.LIVE), event(), PolicyTally(before, LIVE)), InterventionAct
    )


EVENTS = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 1_500_000)), max_size=40)


@given(EVENTS, st.integers(1, 5), st.sampled_from([0.0, 0.02, 1.0]), st.integers(0, 100))
def test_no_limit_is_ever_exceeded_and_each_id_is_asked_for_once(
    events: list[tuple[int, int]], per_10_min: int, share: float, live: int
) -> None:
    found = policy(rule(per_10_min=per_10_min, max_share_of_live=share), per_hour=7, per_hour_per_agent=4)
    before: list[Done] = []
    ids = []
    for number, after in sorted(events, key=lambda each: each[1]):
        told = event(f"e-{number}", AT + after, agent_id=f"a-{number % 3}")
        decision = decide(found, told, PolicyTally(before, live))
        assert decision == decide(found, told, PolicyTally(tuple(before), live))
        if decision is None:
            continue
        opened = decision.opened if isinstance(decision, Withheld) else Breaker.NONE
        before.append(done(told.episode_id, told.at, agent_id=told.agent_id, opened=opened))
        if not before[-1].withheld:
            ids.append(decision.command_id)
    acts = [each for each in before if not each.withheld]
    assert len(ids) == len(set(ids))
    assert len({each.episode_id for each in acts}) == len(acts)
    for each in acts:
        hour = [other for other in acts if each.at - 3_600_000 < other.at <= each.at]
        assert len(hour) <= 7
        assert sum(other.agent_id == each.agent_id for other in hour) <= 4
        assert sum(each.at - 600_000 < other.at for other in hour) <= per_10_min
        held = {other.session_id for other in hour if each.at - 1_800_000 < other.at}
        assert len(held) <= max(1, share * max(live, len(held)))  # those live for certain


# -- the document

WHOLE: Any = {
    "mode": "dry_run",
    "rules": [
        {
            "name": "pause-costly-loops",
            "when": {
                "phase": ["escalated", "still_open"],
                "level": "LOOP",
                "rules": ["R1", "R2", "R7"],
                "min_tokens_since_onset": 20_000,
                "min_cost_since_onset": None,
                "min_minutes_since_onset": 2.5,
                "agents": ["*"],
                "tools": ["shell"],
                "task_types": ["*"],
            },
            "do": [
                {
                    "action": action,
                    "after_records": after,
                    "ttl_ms": 1_800_000,
                    "on_timeout": "resume",
                    "message": None,
                    "quote_tools": action == "inject_message",
                }
                for action, after in (("inject_message", 0), ("pause", 10), ("abort", 10))
            ],
            "limits": {"per_10_min": 10, "max_share_of_live": 0.05},
        }
    ],
    "limits": {"per_hour": 60, "per_hour_per_agent": 10},
}


#: The same without what is as if it were left out.
BRIEF: Any = {
    "mode": "dry_run",
    "rules": [
        {
            "name": "pause-costly-loops",
            "when": {name: value for name, value in WHOLE["rules"][0]["when"].items() if value is not None},
            "do": [
                {"action": "inject_message", "quote_tools": True},
                {"action": "pause", "after_records": 10},
                {"action": "abort", "after_records": 10},
            ],
        }
    ],
}


def test_a_document_comes_back_as_it_was_read_without_what_goes_without_saying() -> None:
    found, problems = read(WHOLE, 3)
    assert problems == ()
    assert document(found) == BRIEF
    assert read(document(found), 3) == (found, ())


def test_a_document_may_name_every_rule_of_the_verdict() -> None:
    [rule] = WHOLE["rules"]
    named = {**WHOLE, "rules": [rule | {"when": rule["when"] | {"rules": list(RULES)}}]}
    found, problems = read(named, 3)
    assert (problems, found.rules[0].when.rules) == ((), tuple(RULES))


@pytest.mark.parametrize(
    ("path", "value", "told"),
    [
        (("mode",), "alive", "mode: must be off, dry_run or live."),
        (("mode",), [], "mode: must be off, dry_run or live."),
        (("limits",), {"per_hour": 0}, "limits.per_hour: must be an integer"),
        (("limits",), {"per_day": 1}, "limits.per_day: is no field."),
        (("rules",), {}, "rules: must be a list"),
        (("rule",), 1, "rule: is no field."),
        (("rules", 0), 3, "rules[0]: must be an object."),
        (("rules", 0, "name"), "", "rules[0].name: must be a text"),
        (("rules", 0, "when", "phase"), ["recovered"], "rules[0].when.phase: must be a list of opened"),
        (("rules", 0, "when", "agents"), [1], "rules[0].when.agents: must be a list of patterns."),
        (("rules", 0, "when", "spending"), ["cost"], "rules[0].when.level: a rule about spending has none."),
        (("rules", 0, "when", "spending"), ["money"], "when.spending: must be a list of tokens"),
        (("rules", 0, "when", "min_tokens_since_onset"), True, "must be a number"),
        (("rules", 0, "do", 0, "action"), "abort", "an abort is never the first step"),
        (("rules", 0, "do"), {"action": "abort"}, "an abort is never the first step"),
        (("rules", 0, "do"), {}, "rules[0].do.action: must be inject_message or pause or abort."),
        (("rules", 0, "do"), [], "rules[0].do: must be a step, or a list of 1 to 5 steps."),
        (("rules", 0, "do", 1, "message"), "stop", "rules[0].do[1].message: only inject_message has one."),
        (("rules", 0, "do", 1, "after_records"), 0, "say how many records of the loop later"),
        (("rules", 0, "do", 0, "after_records"), 3, "the first step comes when"),
        (("rules", 0, "do", 2, "on_timeout"), "abort", "do[2].on_timeout: must be resume."),
        (("rules", 0, "do", 1, "ttl_ms"), 1.5, "do[1].ttl_ms: must be an integer"),
        (("rules", 0, "limits", "max_share_of_live"), 2, "must be a number from 0 to 1"),
        (("rules", 0, "limits", "per_hour"), 2, "rules[0].limits.per_hour: is no field."),
    ],
)
def test_what_is_wrong_is_named_and_the_policy_is_off(path: tuple[Any, ...], value: Any, told: str) -> None:
    changed: Any = _copy(WHOLE)
    place = changed
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    found, problems = read(changed, 3)
    assert found == Policy(version=3)
    assert any(told in problem for problem in problems), problems


def test_a_document_of_an_earlier_version_is_one_step_and_its_limit_of_one_is_known() -> None:
    rules = [{"name": "a", "do": {"action": "pause"}, "limits": {"per_episode": 1}}]
    found, problems = read({"mode": "dry_run", "rules": rules}, 1)
    assert (problems, [each.do for each in found.rules]) == ((), [(Do(action="pause"),)])


def test_two_rules_of_one_name_are_refused() -> None:
    assert read({**WHOLE, "rules": WHOLE["rules"] * 2}, 3)[1] == (
        "rules: 'pause-costly-loops' is the name of two.",
    )


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["mode", "rules", "name", "when", "do", "action", "limits", "phase"]), inner
        )
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(["mode", "rules", "version", "x"]), JSON))
def test_no_document_can_make_reading_fail(given_document: dict[str, Any]) -> None:
    found, problems = read(given_document, 1)
    assert not problems or found == Policy(version=1)


def _copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _copy(each) for name, each in value.items()}
    return [_copy(each) for each in value] if isinstance(value, list) else value

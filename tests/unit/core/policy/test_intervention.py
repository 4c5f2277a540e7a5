"""Automatic policies: the same decision anywhere, within every limit, and no document that surprises."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.core.detectors.verdict.settings import RULES
from streams.core.policy.intervention import (
    Do,
    Done,
    EpisodeEvent,
    InterventionAct,
    Limits,
    Mode,
    Policy,
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
    return Rule(name=name, when=When(**given.pop("when", {})), do=Do(action="pause"), limits=Limits(**given))


def policy(*rules: Rule) -> Policy:
    return Policy(version=3, mode=Mode.DRY_RUN, rules=rules)


def event(episode: str = "e-1", at: int = AT, **given: Any) -> EpisodeEvent:
    told: dict[str, Any] = {"agent_id": "coder-7", "task_type": "api", "phase": "escalated", "level": "LOOP"}
    told |= {"rule": "R1", "tokens": 20_000, "cost": 0.5, "session_id": f"of {episode}", **given}
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
        ({"agents": ("coder-*",)}, {}, {"agent_id": "writer-1"}),
        ({"task_types": ("api",)}, {}, {"task_type": None}),
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
    done = Done("costly", "e-1", "of e-1", AT - 5_000)
    assert decide(policy(rule()), event(), PolicyTally((done,), LIVE)) is None


def test_one_session_is_never_too_large_a_share() -> None:
    found = policy(rule(max_share_of_live=0.05))
    assert isinstance(decide(found, event(), PolicyTally((), 3)), InterventionAct)
    before = Done("costly", "e-0", "of e-0", AT - 1_000)
    held_back = decide(found, event(), PolicyTally((before,), 3))
    assert isinstance(held_back, Withheld)
    assert held_back.why == "2 of 3 live sessions would be more than 5%"


def test_a_limit_opens_the_breaker_for_as_long_as_the_version_is_in_force() -> None:
    found, done = policy(rule(per_10_min=1)), [Done("costly", "e-0", "of e-0", AT - 1_000)]
    first = decide(found, event("e-1"), PolicyTally(done, LIVE))
    assert isinstance(first, Withheld)
    done.append(Done("costly", "e-1", "of e-1", AT, withheld=True))
    much_later = event("e-2", AT + 86_400_000)
    second = decide(found, much_later, PolicyTally(done, LIVE))
    assert isinstance(second, Withheld)
    assert second.why == "its breaker is open"
    assert isinstance(decide(found, much_later, PolicyTally((), LIVE)), InterventionAct)


EVENTS = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 1_500_000)), max_size=40)


@given(EVENTS, st.integers(1, 5), st.sampled_from([0.0, 0.02, 1.0]), st.integers(0, 100))
def test_no_limit_is_ever_exceeded_and_each_id_is_asked_for_once(
    events: list[tuple[int, int]], per_10_min: int, share: float, live: int
) -> None:
    found = policy(rule(per_10_min=per_10_min, max_share_of_live=share))
    done: list[Done] = []
    ids = []
    for number, after in sorted(events, key=lambda each: each[1]):
        told = event(f"e-{number}", AT + after)
        decision = decide(found, told, PolicyTally(done, live))
        assert decision == decide(found, told, PolicyTally(tuple(done), live))
        if decision is None:
            continue
        withheld = isinstance(decision, Withheld)
        done.append(Done("costly", told.episode_id, told.session_id, told.at, withheld))
        if not withheld:
            ids.append(decision.command_id)
    acts = [each for each in done if not each.withheld]
    assert len(ids) == len(set(ids))
    assert len({each.episode_id for each in acts}) == len(acts)
    for each in acts:
        assert sum(each.at - 600_000 < other.at <= each.at for other in acts) <= per_10_min
        held = {other.session_id for other in acts if each.at - 1_800_000 < other.at <= each.at}
        assert len(held) <= max(1, share * live)


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
                "agents": ["*"],
                "task_types": ["*"],
            },
            "do": {"action": "pause", "ttl_ms": 1_800_000, "on_timeout": "resume", "message": None},
            "limits": {"per_episode": 1, "per_10_min": 10, "max_share_of_live": 0.05},
        }
    ],
}


def test_a_document_comes_back_as_it_was_read() -> None:
    found, problems = read(WHOLE, 3)
    assert problems == ()
    assert document(found) == WHOLE
    assert read(document(found), 3) == (found, ())


def test_a_document_may_name_every_rule_of_the_verdict() -> None:
    [rule] = WHOLE["rules"]
    named = {"mode": "dry_run", "rules": [rule | {"when": rule["when"] | {"rules": list(RULES)}}]}
    found, problems = read(named, 3)
    assert problems == ()
    assert document(found) == named


@pytest.mark.parametrize(
    ("path", "value", "told"),
    [
        (("mode",), "live", "mode: live is not built yet"),
        (("mode",), [], "mode: must be off or dry_run."),
        (("rules",), {}, "rules: must be a list"),
        (("rule",), 1, "rule: is no field."),
        (("rules", 0), 3, "rules[0]: must be an object."),
        (("rules", 0, "name"), "", "rules[0].name: must be a text"),
        (("rules", 0, "when", "phase"), ["recovered"], "rules[0].when.phase: must be a list of opened"),
        (("rules", 0, "when", "agents"), [1], "rules[0].when.agents: must be a list of patterns."),
        (("rules", 0, "when", "min_tokens_since_onset"), True, "must be a number"),
        (("rules", 0, "do", "action"), "abort", "an abort is never automatic"),
        (("rules", 0, "do", "action"), "inject_message", "do.message: inject_message has one"),
        (("rules", 0, "do", "ttl_ms"), 1.5, "do.ttl_ms: must be an integer"),
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

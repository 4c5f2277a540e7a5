"""Automatic policies under events in any order, and what the order of the rules means."""

from hypothesis import given
from hypothesis import strategies as st

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

AT = 1_760_000_000_000
TEN_MINUTES_MS = 600_000
NAMES = ("R1", "R2", "R7", "R9")


def rule(name: str, *of: str, per_10_min: int = 1_000) -> Rule:
    limits = Limits(per_10_min=per_10_min, max_share_of_live=1.0)
    return Rule(name=name, when=When(rules=of), do=Do(action="pause"), limits=limits)


def event(number: int, after: int = 0, of: str = "R1") -> EpisodeEvent:
    return EpisodeEvent(
        f"e-{number}", f"s-{number}", "coder-7", None, "escalated", "LOOP", of, 20_000, None, AT + after
    )


@given(st.permutations(NAMES), st.sampled_from(NAMES))
def test_rules_that_are_not_about_an_event_may_stand_anywhere(order: list[str], of: str) -> None:
    policy = Policy(version=1, mode=Mode.DRY_RUN, rules=tuple(rule(f"of {each}", each) for each in order))
    found = decide(policy, event(1, of=of), PolicyTally((), 100))
    assert isinstance(found, InterventionAct)
    assert found.rule.name == f"of {of}"


@given(st.lists(st.sampled_from(NAMES), min_size=1, max_size=6))
def test_of_the_rules_that_are_about_an_event_the_first_decides(of: list[str]) -> None:
    rules = tuple(rule(f"{number}", each) for number, each in enumerate(of))
    found = decide(Policy(version=1, mode=Mode.DRY_RUN, rules=rules), event(1), PolicyTally((), 100))
    assert (None if found is None else found.rule.name) == (f"{of.index('R1')}" if "R1" in of else None)


@given(
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 3 * TEN_MINUTES_MS)), max_size=40),
    st.integers(1, 4),
)
def test_events_out_of_order_exceed_no_limit_of_ten_minutes(events: list[tuple[int, int]], most: int) -> None:
    policy = Policy(version=1, mode=Mode.DRY_RUN, rules=(rule("costly", per_10_min=most),))
    done: list[Done] = []
    for number, after in events:
        told = event(number, after)
        found = decide(policy, told, PolicyTally(done, 100))
        if found is not None:
            held = isinstance(found, Withheld)
            done.append(Done("costly", told.episode_id, told.session_id, told.at, held))
    acts = [each.at for each in done if not each.withheld]
    assert all(sum(at <= other < at + TEN_MINUTES_MS for other in acts) <= most for at in acts)

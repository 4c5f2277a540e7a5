"""Automatic policies under events in any order, and what the order of the rules means."""

from hypothesis import given
from hypothesis import strategies as st

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

AT = 1_760_000_000_000
TEN_MINUTES_MS = 600_000
NAMES = ("R1", "R2", "R7", "R9")


def rule(name: str, *of: str, per_10_min: int = 1_000) -> Rule:
    limits = Limits(per_10_min=per_10_min, max_share_of_live=1.0)
    return Rule(name=name, when=When(rules=of), do=(Do(action="pause"),), limits=limits)


def event(number: int, after: int = 0, of: str = "R1") -> EpisodeEvent:
    return EpisodeEvent(
        episode_id=f"e-{number}",
        session_id=f"s-{number}",
        agent_id="coder-7",
        task_type=None,
        phase="escalated",
        level="LOOP",
        rule=of,
        tools=("shell",),
        records=4,
        tokens=20_000,
        cost=None,
        minutes=1.0,
        at=AT + after,
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
    unlimited = PolicyLimits(per_hour=1_000, per_hour_per_agent=1_000)
    rules = (rule("costly", per_10_min=most),)
    policy = Policy(version=1, mode=Mode.DRY_RUN, rules=rules, limits=unlimited)
    done: list[Done] = []
    for number, after in events:
        told = event(number, after)
        found = decide(policy, told, PolicyTally(done, 100))
        if found is not None:
            opened = found.opened if isinstance(found, Withheld) else Breaker.NONE
            about = told.episode_id, told.session_id, told.agent_id, told.at
            done.append(Done("costly", 1, False, *about, opened=opened))
    acts = [each.at for each in done if not each.withheld]
    assert all(sum(at <= other < at + TEN_MINUTES_MS for other in acts) <= most for at in acts)

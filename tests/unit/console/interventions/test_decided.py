"""The scoreboard counts what did happen after each decision, and decisions survive the audit."""

from typing import Any

import orjson
import pytest

from streams.console.interventions.decided import (
    Decided,
    Fate,
    audit_of,
    decided,
    event_of,
    in_force,
    open_breakers,
    outcomes,
    policy_versions,
    scores,
)
from streams.console.read_model.rows import ActionRow, VersionRow
from streams.core.domain.topic import Topic
from streams.core.policy.intervention import Do, InterventionAct, Mode, Policy, Rule, When, Withheld

AT = 1_760_000_000_000
RULE = Rule(name="costly", when=When(), do=Do(action="pause"))
POLICY = Policy(version=3, mode=Mode.DRY_RUN, rules=(RULE,))


def fields(episode: str, **given: Any) -> dict[str, Any]:
    return {
        "event_type": "loop_episode",
        "session_id": f"of {episode}",
        "agent_id": "coder-7",
        "timestamp": AT,
        "partition": 0,
        "offset": 5,
        "phase": "escalated",
        "level": "LOOP",
        "reopened": False,
        "rule": "R1",
        "period": None,
        "count": 4,
        "tools": ["shell"],
        "signatures": ["a"],
        "first_offset": 1,
        "first_timestamp": AT,
        "last_offset": 5,
        "last_timestamp": AT,
        "records": 4,
        "tokens_since_onset": 1_000,
        "cost_since_onset": 0.5,
        "episode_id": episode,
        "reason": None,
        **given,
    }


def row(decision: InterventionAct | Withheld, episode: str) -> ActionRow:
    event = event_of(fields(episode), "api", AT)
    assert event is not None
    record = audit_of(decision, event, POLICY, fields(episode), "it loops")
    return ActionRow(
        id=record.id,
        at=record.at,
        who=record.who,
        role="",
        kind=record.kind,
        target=record.target or "",
        why=record.why or "",
        result=record.result or "",
        body=orjson.dumps(record.fields()).decode(),
        partition=0,
        offset=0,
    )


def acted(*names: str) -> list[Decided]:
    return decided([row(InterventionAct(RULE, name), name) for name in names])


def later(name: str, **given: Any) -> dict[str, Any]:
    told = {"offset": 60, "phase": "still_open", "records": 40, "tokens_since_onset": 9_000}
    return fields(name, **{**told, "cost_since_onset": 2.0, **given})


def over(name: str, records: int, reason: str = "quiet", **given: Any) -> dict[str, Any]:
    return later(name, phase="recovered", records=records, reason=reason, **given)


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
    assert (score.paused, score.went_on, score.recovered, score.open, score.withheld) == (3, 1, 1, 1, 0)
    assert (score.tokens, score.cost) == (8_000, 1.5)


def test_a_cost_that_no_session_told_is_not_zero() -> None:
    known = acted("a")
    [score] = scores(known, outcomes(known, {"a": [later("a", cost_since_onset=None)]}))
    assert (score.tokens, score.cost) == (8_000, None)


def test_a_rule_that_was_held_back_saved_nothing_and_its_breaker_is_open() -> None:
    known = decided([row(Withheld(RULE, "x", "its limit"), "e")])
    [score] = scores(known, outcomes(known, {"e": [later("e")]}))
    assert (score.paused, score.withheld, score.tokens) == (0, 1, 0)
    assert open_breakers(known, 3) == {"costly": "its limit"}
    assert open_breakers(known, 4) == {}


@pytest.mark.parametrize("body", ["{}", '{"request": 3}', '{"request": "[]"}', '{"request": "{"}'])
def test_what_anybody_may_have_written_counts_for_nothing(body: str) -> None:
    forged = row(InterventionAct(RULE, "e"), "e")._replace(body=body)
    assert decided([forged]) == []


def version(offset: int, document: dict[str, Any] | None) -> VersionRow:
    body = None if document is None else orjson.dumps(document).decode()
    return VersionRow(str(Topic.INTERVENTION_POLICY), offset, AT, 0, None, None, None, body)


def test_a_wrong_document_leaves_the_policy_before_it_in_force() -> None:
    rows = [
        version(2, {"version": 2, "mode": "live"}),
        version(1, {"version": 1, "mode": "dry_run", "rules": []}),
        version(3, None),
        version(4, {"version": 1, "mode": "off"}),
    ]
    found = policy_versions(rows)
    assert in_force(found) == Policy(version=1, mode=Mode.DRY_RUN)
    assert [bool(each.ignored) for each in found] == [False, True, True, True]
    assert in_force(policy_versions([*rows, version(5, {"version": 2, "mode": "off"})])).mode is Mode.OFF

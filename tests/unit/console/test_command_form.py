"""What an action asks for: every field of a form, and what is refused."""

from __future__ import annotations

import itertools
import json

import pytest
from eddy_client.protocol import MINUTE_MS
from hypothesis import given
from hypothesis import strategies as st

from streams.console.command_form import Form, LabelFacts, Who, commands_of, form_of, labels_of, triage_of
from streams.console.read_model.triage import EpisodeSeen
from streams.control.audit import AuditRecord
from streams.control.command import Cause, Command, Issuer, IssuerKind
from streams.core.errors import ConfigurationError

NOW = 1_760_000_000_000
ANA = Issuer(kind=IssuerKind.OPERATOR, name="ana", role="operator", via="cookie")
PAUSE = {"session_ids": ["s-17"], "action": ["pause"], "reason": ["it loops"]}
LIVE = {None: 230, "coder-7": 14, "quiet": 0}


def asked(form: Form) -> list[Command]:
    numbers = itertools.count(1)
    who = Who(issuer=ANA, now=NOW, new_id=lambda: f"id-{next(numbers)}")
    return commands_of(form, who, lambda agent: LIVE[agent])


def decided(form: Form, seen: EpisodeSeen = EpisodeSeen()) -> list[AuditRecord]:  # noqa: B008 - it is frozen
    numbers = itertools.count(1)
    who = Who(issuer=ANA, now=NOW, new_id=lambda: f"id-{next(numbers)}")
    return triage_of(form, who, lambda _: seen)


def test_the_least_that_pauses_a_session() -> None:
    [command] = asked(PAUSE)
    assert command == Command(
        command_id="id-1",
        scope="session",
        session_id="s-17",
        action="pause",
        issued_at=NOW,
        expires_at=NOW + 24 * 60 * MINUTE_MS,
        on_timeout="resume",
        reason="it loops",
        issuer=ANA,
    )


def test_every_field_of_a_form_arrives() -> None:
    cause = {"event_type": "loop_episode", "episode_id": "648a", "partition": 3, "offset": 120}
    [paused] = asked({**PAUSE, "ttl_ms": ["900000"], "on_timeout": ["abort"], "cause": [json.dumps(cause)]})
    assert (paused.expires_at, paused.on_timeout) == (NOW + 900_000, "abort")
    assert paused.cause == Cause(event_type="loop_episode", episode_id="648a", partition=3, offset=120)
    assert asked({**PAUSE, "cause": ["648a"]})[0].cause == Cause(episode_id="648a")
    [noted] = asked({**PAUSE, "action": ["inject_message"], "message": ["Stop searching."]})
    assert (noted.message, noted.on_timeout) == ("Stop searching.", None)
    budgets = {"steps_budget": ["300"], "tokens_budget": ["90,000"]}
    [raised] = asked({**PAUSE, "action": ["raise_budget"], **budgets})
    assert (raised.steps_budget, raised.tokens_budget) == (300, 90_000)


def test_json_and_a_form_ask_for_the_same() -> None:
    document = {"session_ids": ["s-17"], "action": "pause", "reason": "it loops", "ttl_ms": 900_000}
    more = {"cause": {"offset": 120}, "message": None}
    form = {**PAUSE, "ttl_ms": ["900000"], "cause": ['{"offset": 120}']}
    assert asked(form_of({**document, **more})) == asked(form)


def test_an_action_on_many_makes_one_command_for_each_and_needs_their_number() -> None:
    many = {**PAUSE, "session_ids": [f"s-{number}" for number in range(14)]}
    with pytest.raises(ConfigurationError, match="about 14 sessions: type 14 in the field confirm"):
        asked(many)
    commands = asked({**many, "confirm": ["14"]})
    assert [each.session_id for each in commands] == many["session_ids"]
    assert len({each.command_id for each in commands}) == 14
    assert len(asked({**PAUSE, "session_ids": ["a", "b", "a", "", "c"]})) == 3


def test_a_hold_needs_the_number_of_live_sessions_which_may_change_meanwhile() -> None:
    everyone = {"scope": ["all"], "action": ["pause"], "reason": ["sandbox down"]}
    with pytest.raises(ConfigurationError, match="holds 230 live sessions, and all to come: type 230"):
        asked(everyone)
    with pytest.raises(ConfigurationError, match="type 230"):
        asked({**everyone, "confirm": ["23"]})
    [hold] = asked({**everyone, "confirm": ["221"]})
    assert (hold.key, hold.session_id) == (b"all", None)
    agent = {**everyone, "scope": ["agent"], "agent_id": ["coder-7"], "confirm": ["14"]}
    assert asked(agent)[0].key == b"agent/coder-7"
    quiet = {**agent, "agent_id": ["quiet"], "confirm": ["0"]}
    assert asked(quiet)[0].agent_id == "quiet"
    [released] = asked({**everyone, "action": ["resume"]})
    assert released.key == b"all"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"session_ids": []}, "Name 1 to 1,000 sessions in the field session_ids"),
        ({"session_ids": [str(n) for n in range(1_001)], "confirm": ["1001"]}, "1,001 sessions are too many"),
        ({"action": ["stop"]}, "one of the actions"),
        ({"action": ["pause", "abort"]}, "The field action is there 2 times"),
        ({"reason": [" "]}, "Say why"),
        ({"ttl_ms": ["86400001"]}, "within 24 hours"),
        ({"ttl_ms": ["0"]}, "not at once"),
        ({"ttl_ms": ["soon"]}, "The field ttl_ms must be a whole number"),
        ({"ttl_ms": ["-5"]}, "The field ttl_ms must be a whole number"),
        ({"on_timeout": ["explode"]}, "what happens when the pause ends"),
        ({"scope": ["cluster"]}, "names no sessions|one of the scopes"),
        ({"scope": ["all"]}, "A hold names no sessions"),
        ({"steps_budget": ["5"]}, "Only raise_budget has budgets"),
        ({"cause": ["{the alert"]}, "The field cause is not that of an alert: it must be a JSON object"),
        ({"cause": ["x" * 201]}, "The field cause has 201 characters"),
        ({"cause": ['{"offset": "x"}']}, "offset must be a whole number"),
    ],
)
def test_a_form_that_asks_for_what_cannot_be_says_which_field(change: Form, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        asked({**PAUSE, **change})


FIELDS = st.sampled_from(
    ["scope", "session_ids", "agent_id", "action", "reason", "ttl_ms", "cause", "confirm"]
)
PLAIN = st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(max_size=8)
VALUES = st.recursive(
    PLAIN | st.sampled_from(["all", "pause"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)


@given(document=st.dictionaries(FIELDS, VALUES))
def test_whatever_a_client_sends_is_a_command_or_a_refusal(document: dict[str, object]) -> None:
    try:
        commands = commands_of(form_of(document), Who(issuer=ANA, now=NOW, new_id=lambda: "id"), lambda _: 0)
    except ConfigurationError:
        return
    assert all(each.reason for each in commands)


def test_a_body_that_is_no_object_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="no JSON object"):
        form_of(["pause"])


def test_a_label_has_what_is_known_of_the_alert_and_other_triage_is_none() -> None:
    records = decided({"episode_ids": ["e1"], "do": ["not_a_loop"], "note": ["It waits."]})

    def about(subject: str) -> LabelFacts:
        return LabelFacts(f"of {subject}", "coder", "R1", "LOOP", ("Bash",))

    [label] = labels_of(records, "not_a_loop", about)
    assert (label.subject, label.session_id, label.label) == ("e1", "of e1", "not_a_loop")
    assert (label.who, label.why, label.rule, label.tools) == ("ana", "It waits.", "R1", ("Bash",))
    assert labels_of(records, "ack", about) == []


def test_triage_keeps_how_the_episode_was_so_that_it_can_return() -> None:
    first, second = decided({"episode_ids": ["e1", "e2"], "do": ["ack"]}, EpisodeSeen(1_200, "LOOP", 17))
    assert (first.target, second.target) == ("e1", "e2")
    assert first.request == '{"do":"ack","tokens":1200,"level":"LOOP","place":17}'
    assert (first.who, first.role, first.kind, first.result) == ("ana", "operator", "triage", "accepted")
    assert (first.id, second.id) == ("id-1", "id-2")


@pytest.mark.parametrize(
    ("given_", "until", "tokens"),
    [
        ({}, NOW + 60 * MINUTE_MS, None),
        ({"until": ["15m"]}, NOW + 15 * MINUTE_MS, None),
        ({"until": ["2d"]}, NOW + 2_880 * MINUTE_MS, None),
        ({"until": [str(NOW + 5)]}, NOW + 5, None),
        ({"until": ["recovered"]}, None, None),
        ({"until_tokens": ["50,000"]}, None, 50_000),
        ({"until": ["1h"], "until_tokens": ["50000"]}, NOW + 60 * MINUTE_MS, 50_000),
    ],
)
def test_a_snooze_ends_at_a_time_at_a_number_of_tokens_or_with_the_episode(
    given_: Form, until: int | None, tokens: int | None
) -> None:
    [record] = decided({"episode_ids": ["e1"], "do": ["snooze"], **given_})
    request = json.loads(record.request or "")
    assert (request.get("until"), request.get("until_tokens")) == (until, tokens)


def test_an_episode_is_assigned_to_who_asks_or_to_who_is_named_and_a_note_is_kept() -> None:
    requests = [
        json.loads(decided({"episode_ids": ["e1"], **form})[0].request or "")
        for form in (
            {"do": ["assign"]},
            {"do": ["assign"], "assignee": ["bo"]},
            {"do": ["assign"], "assignee": ["-"]},
            {"do": ["note"], "note": [" a flaky test "]},
        )
    ]
    assert [each.get("assignee") for each in requests] == ["ana", "bo", "", None]
    assert requests[3]["note"] == "a flaky test"


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ({"do": ["ack"]}, "Name 1 to 1,000 episodes"),
        ({"episode_ids": ["e1"]}, "one of ack, unack, snooze, assign, note"),
        ({"episode_ids": ["e1"], "do": ["close"]}, "one of ack, unack, snooze, assign, note"),
        ({"episode_ids": ["e1"], "do": ["snooze"], "until": ["5"]}, "The field until is in the past"),
        ({"episode_ids": ["e1"], "do": ["snooze"], "until": ["later"]}, "must be a whole number"),
        ({"episode_ids": ["e1"], "do": ["note"], "note": ["x" * 1_001]}, "1,000 are possible"),
        ({"episode_ids": ["e1"], "do": ["assign"], "assignee": ["x" * 201]}, "200 are possible"),
    ],
)
def test_triage_that_cannot_be_says_which_field(form: Form, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        decided(form)

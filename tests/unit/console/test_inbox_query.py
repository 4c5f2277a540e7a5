"""The filter language, the order of rows, pages, groups and totals."""

from collections.abc import Callable
from dataclasses import replace
from math import fsum
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streams.console.inbox import Query, page, tabs
from streams.console.read_model.model import ReadModel
from streams.core.detectors.settings import DEFAULTS
from streams.core.domain.topic import Topic
from streams.core.errors import ConfigurationError
from tests.unit.console.agents import Board
from tests.unit.console.step_diff.recorded import recorded
from tests.unit.console.told import Told, Topics

NOW = 1_773_140_000_000
[EPISODE] = [
    event
    for step in recorded("flip_flop", replace(DEFAULTS, verdict_rules=frozenset({"R2"})))
    for event in step.record["eddy"]["events"]
    if event["event_type"] == "loop_episode" and event["level"] == "LOOP"
]


def looping(topics: Topics, number: int, **changes: Any) -> Told:
    """Return the episode of the recording flip_flop by R2, as that of another session."""
    session = f"s-{number:03}"
    fields = {**EPISODE, "session_id": session, "id": f"{session}/{EPISODE['id']}", **changes}
    fields["episode_id"] = f"e-{number}"
    return topics.told(Topic.SESSION_ALERTS, session, fields, changes.get("timestamp", NOW - 1_000))


def board(*changes: dict[str, Any]) -> ReadModel:
    model, topics = ReadModel(), Topics()
    for number, change in enumerate(changes):
        assert model.take(*looping(topics, number, **change))
    return model


def found(model: ReadModel, text: str, now: int = NOW) -> list[str]:
    return sorted(row["session_id"] for row in page(model, Query.parse({"q": text}), now).rows)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("rule:R2", ["s-000", "s-001"]),
        ("rule:r9", ["s-002"]),
        ("agent:coder-*", ["s-000", "s-002"]),
        ("agent:coder-7", ["s-000"]),
        ("tool:web_search", ["s-002"]),
        ("tool:web*", ["s-002"]),
        ("tokens>10000", ["s-001", "s-002"]),
        ("tokens>=10k tokens<1.5m", ["s-000", "s-001", "s-002"]),
        ("tokens=10,000", ["s-000"]),
        ("cost>1", ["s-002"]),
        ("since:2h", ["s-001"]),
        ("since:1d", ["s-000", "s-001", "s-002"]),
        ("is:unguarded is:unassigned", ["s-000", "s-001", "s-002"]),
        ("is:paused", []),
        ("is:reopened", ["s-001"]),
        ("rule:R2 tokens>10000", ["s-001"]),
        ("CODER-7", ["s-000"]),
        ("free text", []),
        ('"s-00"', ["s-000", "s-001", "s-002"]),
        ('agent:"web agent"', ["s-001"]),
        ("level:loop class:critical", ["s-000", "s-001", "s-002"]),
    ],
)
def test_the_words_of_the_filter(text: str, expected: list[str]) -> None:
    hour = 3_600_000
    model = board(
        {"agent_id": "coder-7", "tokens_since_onset": 10_000, "first_timestamp": NOW - 3 * hour},
        {
            "agent_id": "web agent",
            "tokens_since_onset": 20_000,
            "first_timestamp": NOW - hour,
            "reopened": True,
        },
        {
            "agent_id": "coder-9",
            "rule": "R9",
            "tools": ["web_search"],
            "tokens_since_onset": 30_000,
            "cost_since_onset": 2.5,
            "first_timestamp": NOW - 3 * hour,
        },
    )
    assert found(model, text) == expected


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"q": "colour:red"}, 'Unknown filter word "colour" in "colour:red"'),
        ({"q": "rule:R2 speed>3"}, 'Unknown filter word "speed" in "speed>3"'),
        ({"q": "is:asleep"}, 'Unknown filter word "is:asleep"'),
        ({"q": "tokens>many"}, '"many" in "tokens>many" is no number'),
        ({"q": "since:yesterday"}, '"yesterday" in "since:yesterday" is no duration'),
        ({"q": "agent:"}, '"agent:" says nothing'),
        ({"q": 'a "b'}, "a quotation mark too few"),
        ({"q": "x" * 1_001}, "longer than 1,000 characters"),
        (
            {"state": "lost"},
            'Unknown state "lost". Known are needs_you, watching, handled, ended, ',
        ),
        ({"severity": "high,worse"}, 'Unknown severity "worse"'),
        ({"sort": "colour"}, 'Unknown sort "colour"'),
        ({"group": "agent"}, 'Unknown group "agent"'),
        ({"cursor": "none"}, "The cursor is none"),
    ],
)
def test_what_does_not_exist_is_an_error_that_names_it(params: dict[str, str], said: str) -> None:
    with pytest.raises(ConfigurationError) as error:
        Query.parse(params)
    assert said in str(error.value)


def test_the_parameters_of_the_page_are_words_of_the_filter_too() -> None:
    query = Query.parse({"rule": "R2", "agent": "web agent", "tool": "bash", "q": "tokens>1", "live": "0"})
    assert query.chips == ("rule:R2", 'agent:"web agent"', "tool:bash", "tokens>1")
    assert query == Query.parse({"q": 'rule:R2 agent:"web agent" tool:bash tokens>1'})


@settings(max_examples=200)
@given(st.text(max_size=60))
def test_any_text_is_a_query_or_an_error(text: str) -> None:
    try:
        query = Query.parse({"q": text, "cursor": text[:3]})
    except ConfigurationError:
        return
    assert len(page(MODEL, query, NOW).rows) <= 100


def test_rows_are_sorted_by_class_then_waste_then_session() -> None:
    tokens = [5, 9, 9, 7]
    model = board(*({"tokens_since_onset": each} for each in tokens))
    rows = page(model, Query.parse({}), NOW).rows
    assert [row["session_id"] for row in rows] == ["s-001", "s-002", "s-003", "s-000"]


@pytest.mark.parametrize(
    ("sort", "first"), [("waste", "s-002"), ("cost", "s-001"), ("since", "s-000"), ("newest", "s-001")]
)
def test_rows_are_sorted_as_asked(sort: str, first: str) -> None:
    model = board(
        {"tokens_since_onset": 1, "first_timestamp": 1, "cost_since_onset": 0.1},
        {"tokens_since_onset": 2, "first_timestamp": 2, "cost_since_onset": 0.9, "timestamp": NOW},
        {"tokens_since_onset": 3, "first_timestamp": 3, "cost_since_onset": None},
    )
    assert page(model, Query.parse({"sort": sort}), NOW).rows[0]["session_id"] == first


def test_the_one_that_burns_tokens_now_comes_first_by_rate() -> None:
    board = Board()
    board.loop("cold", 30, state_delta={"tokens_consumed": 5_000})
    board.now += 290_000
    board.loop("hot", 8, state_delta={"tokens_consumed": 4_000})
    board.loop("cold", 1, state_delta={"tokens_consumed": 1})
    assert [row["session_id"] for row in board.inbox(sort="waste").rows] == ["cold", "hot"]
    rows = board.inbox(sort="rate").rows
    assert [row["session_id"] for row in rows] == ["hot", "cold"]
    assert rows[0]["rate_per_min"] == 8 * 4_000, "of a session of less than a minute, as if of a minute"
    assert sum(rows[0]["spark"]) == 8 * 4_000
    assert rows[1]["rate_per_min"] == 5_001 // 5, "all but one of its first records are older than that"


def every(model: ReadModel, take: Callable[[dict[str, Any]], Any], **params: str) -> list[Any]:
    """Return what `take` finds in each row of all pages."""
    found: list[Any] = []
    cursor = ""
    while True:
        answer = page(model, Query.parse({**params, "cursor": cursor}), NOW).content()
        assert len(answer["rows"]) <= 100
        found += map(take, answer["rows"])
        if answer["next"] is None:
            return found
        cursor = answer["next"]


MODEL = board(
    *(
        {
            "tokens_since_onset": number * 7_919 % 1_013,
            "signatures": [f"x-{number % 5}"],
            "agent_id": f"agent-{number % 3}",
            "level": "LOOP" if number % 4 else "WARNING",
        }
        for number in range(350)
    )
)


def test_pages_of_a_hundred_rows_hold_every_row_once_in_order() -> None:
    rows = every(MODEL, lambda row: (-row["tokens"], row["session_id"]))
    assert len(set(rows)) == len(rows) == sum(bool(number % 4) for number in range(350))
    assert rows == sorted(rows)


def test_the_totals_are_what_a_recount_of_all_rows_gives() -> None:
    answer = page(MODEL, Query.parse({"q": "agent:agent-1"}), NOW)
    rows = every(MODEL, lambda row: row, q="agent:agent-1") + every(
        MODEL, lambda row: row, q="agent:agent-1", state="watching"
    )
    for name in ("tokens", "cost"):
        assert answer.totals[name] == fsum(row[name] for row in rows if row["tab"] == "needs_you")
    for name in ("critical", "high", "medium", "low"):
        assert answer.totals[name] == sum(row["class"] == name for row in rows)
    for tab in ("needs_you", "watching", "handled", "recovered"):
        assert answer.tabs[tab] == sum(row["tab"] == tab for row in rows)
    assert answer.matching == answer.tabs["needs_you"]
    assert tabs(MODEL, NOW) == page(MODEL, Query.parse({}), NOW).tabs


def test_severity_limits_the_rows() -> None:
    assert every(MODEL, lambda row: row["class"], severity="high,low") == []
    classes = every(MODEL, lambda row: row["class"], severity="medium", state="watching")
    assert set(classes) == {"medium"}


@pytest.mark.parametrize(
    ("rule", "how"), [("R7", "without getting on"), ("R9", "waiting in vain"), ("R4", "with the same result")]
)
def test_rows_of_one_cause_are_one_group(rule: str, how: str) -> None:
    model = board(
        *(
            {
                "rule": rule,
                "tools": ["web_search"],
                "signatures": ["x"],
                "agent_id": f"agent-{number % 3}",
                "tokens_since_onset": 20_000 + number,
            }
            for number in range(14)
        ),
        {"tokens_since_onset": 1},
    )
    groups = page(model, Query.parse({"group": "cause"}), NOW).content()["groups"]
    assert [group["sessions"] for group in groups] == [14, 1]
    total = sum(20_000 + number for number in range(14))
    assert groups[0]["sentence"] == (f"14 sessions of 3 agents: web_search {how} ({rule}); {total:,} tokens")
    assert len(groups[0]["session_ids"]) == len(groups[0]["subjects"]) == 14
    assert groups[0]["worst"] == "s-013"


def test_the_row_says_where_its_figures_come_from() -> None:
    [row] = page(board({}), Query.parse({}), NOW).rows
    assert row["first"]["topic"] == "decision-logs"
    assert row["first"]["offset"] == EPISODE["first_offset"]
    assert row["last"]["offset"] == EPISODE["last_offset"]
    assert row["what"].endswith("the same 4 steps with the same results, 3 times round (R2)")


def test_the_version_of_a_row_changes_with_what_it_shows_and_only_then() -> None:
    model, topics = ReadModel(), Topics()
    told = looping(topics, 1)
    model.take(*told)
    [before] = page(model, Query.parse({}), NOW).rows
    model.take(*told)
    [again] = page(model, Query.parse({}), NOW + 1).rows
    assert before["version"] == again["version"]
    model.take(*looping(topics, 1, offset=EPISODE["offset"] + 9, tokens_since_onset=99_999))
    [after] = page(model, Query.parse({}), NOW + 1).rows
    assert before["version"] != after["version"]


def test_an_empty_page_says_how_many_sessions_live_and_that_silence_is_not_health() -> None:
    board = Board()
    board.work("a", 3)
    board.work("b", 3)
    assert board.inbox(2).empty["sentence"] == (
        "No session is in a loop. 2 sessions live, newest record 2 s ago."
    )
    assert board.inbox(400).empty["sentence"] == (
        "No record for 6 min. Whether a session is in a loop is not known."
    )

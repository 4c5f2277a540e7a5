"""Agents and tools are ranked the same whatever order their reports come in, and pages leave none out."""

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.console.health import (
    ROWS,
    STALE_MS,
    HealthQuery,
    HealthReport,
    RankingScope,
    RankingSort,
    ranking,
    totals,
)
from streams.console.read_model.rows import HealthRow
from streams.core.errors import ConfigurationError

NOW = 1_773_140_000_000
COUNTS = st.integers(0, 50)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False)
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


def report(name: str, age_ms: int = 0, scope: str = "agent", **counts: Any) -> HealthReport:
    body = {"sessions_hour": 4, "sessions_day": 9, **counts}
    return HealthReport.of(HealthRow(scope, name, 0, orjson.dumps(body).decode(), NOW - age_ms, 0))


@st.composite
def fleets(draw: st.DrawFn) -> list[HealthReport]:
    names = draw(st.lists(st.text("ab/ ", min_size=1, max_size=6), unique=True, max_size=30))
    return [
        report(
            name,
            draw(st.sampled_from([0, STALE_MS, STALE_MS + 1])),
            draw(st.sampled_from(["agent", "tool"])),
            wasted_tokens_hour=draw(COUNTS),
            looping_now=draw(COUNTS),
        )
        for name in names
    ]


@given(fleets(), st.sampled_from(RankingSort), st.randoms())
def test_the_order_of_the_reports_does_not_matter(
    fleet: list[HealthReport], sort: RankingSort, chance: Any
) -> None:
    query = HealthQuery(sort=sort)
    mixed = list(fleet)
    chance.shuffle(mixed)
    assert ranking(fleet, query, NOW) == ranking(mixed, query, NOW)


@given(fleets())
def test_no_stale_report_stands_before_a_fresh_one_and_waste_falls(fleet: list[HealthReport]) -> None:
    shown = ranking(fleet, HealthQuery(), NOW).reports
    keys = [(each.is_stale(NOW), -each.wasted_tokens_hour) for each in shown]
    assert keys == sorted(keys)
    assert {each.name for each in shown} == {each.name for each in fleet if each.scope == "agent"}


def test_pages_have_every_name_once() -> None:
    fleet = [report(f"a-{number}", wasted_tokens_hour=number % 7) for number in range(2 * ROWS + 5)]
    seen, cursor = [], ""
    while True:
        page = ranking(fleet, HealthQuery.parse({"cursor": cursor}), NOW)
        seen += [each.name for each in page.reports]
        if page.next is None:
            break
        cursor = page.next
    assert sorted(seen) == sorted(each.name for each in fleet)
    assert page.matching == len(fleet)


@given(st.dictionaries(st.sampled_from([*HealthReport._fields, "cross_chains"]), JSON))
def test_a_report_with_any_value_is_read(said: dict[str, Any]) -> None:
    found = HealthReport.of(HealthRow("agent", "a", 0, orjson.dumps(said).decode(), NOW, 0))
    assert 0 <= found.share <= 1
    assert ranking([found], HealthQuery(), NOW).reports == [found]
    assert totals([found], RankingScope.AGENT, NOW)["known"] == 1


def test_totals_leave_out_the_hour_of_what_is_stale_and_the_waste_of_tools() -> None:
    fresh = report("a", wasted_tokens_hour=10, wasted_tokens_day=30, looping_now=1)
    stale = report("b", STALE_MS + 1, wasted_tokens_hour=100, wasted_tokens_day=200)
    found = totals([fresh, stale], RankingScope.AGENT, NOW)
    assert (found["wasted_tokens_hour"], found["wasted_tokens_day"], found["fresh"]) == (10, 230, 1)
    assert "wasted_tokens_hour" not in totals([report("t", scope="tool")], RankingScope.TOOL, NOW)


@pytest.mark.parametrize("params", [{"scope": "fleet"}, {"sort": "colour"}, {"cursor": "x"}])
def test_an_unknown_word_is_named(params: dict[str, str]) -> None:
    with pytest.raises(ConfigurationError):
        HealthQuery.parse(params)

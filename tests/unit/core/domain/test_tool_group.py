"""Which tools count as one."""

import pytest

from streams.core.domain.tool_group import ToolGroup, grouping


@pytest.mark.parametrize(
    ("name", "group"),
    [
        ("call_api_v2", "call_api"),
        ("Call-API-v10", "call-api"),
        ("callv3", "call"),
        ("call_v1_v2", "call_v1"),
        ("call_v", "call_v"),
        ("call_v2x", "call_v2x"),
        ("call_2", "call_2"),
        ("v7", ""),
        ("", ""),
    ],
)
def test_without_groups_a_name_loses_case_and_version(name: str, group: str) -> None:
    assert grouping(())(name) == group


def test_the_first_group_that_fits_the_lower_cased_name_holds() -> None:
    group_of = grouping((ToolGroup("Search", ("search*",)), ToolGroup("Other", ("*",))))
    assert [group_of(name) for name in ("Search_v2", "", "read")] == ["Search", "Other", "Other"]


def test_a_pattern_in_capitals_fits_nothing() -> None:
    assert grouping((ToolGroup("Search", ("SEARCH*",)),))("SEARCH_WEB") == "search_web"


def test_very_long_names_have_groups_too() -> None:
    assert grouping(())("X" * 5000 + "_v2") == "x" * 5000

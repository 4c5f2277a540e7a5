from dataclasses import replace
from fnmatch import fnmatchcase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.core.detectors.settings import DEFAULTS
from streams.core.domain.tool_class import (
    PolicyMode,
    ToolClass,
    ToolGroup,
    ToolPolicy,
    first_policy,
    grouping,
    tool_class,
)

LISTS = ("write_tools", "read_tools", "command_tools")
GLOBS = st.lists(st.text("ab*?_", max_size=4), max_size=3, unique=True).map(tuple)


@pytest.mark.parametrize(
    ("tool", "expected"),
    [
        ("write_file", "write"),
        ("Edit", "write"),
        ("str_replace_editor", "write"),
        ("read", "read"),
        ("file_read", "read"),
        ("get_file_contents", "read"),
        ("BASH", "command"),
        ("unit_tests", "command"),
        ("execute", "command"),
        ("get_weather", "other"),
        ("", "other"),
    ],
)
def test_classes_under_the_default_lists(tool, expected):
    assert tool_class(tool, DEFAULTS) is ToolClass(expected)


def test_write_comes_before_read_and_read_before_command():
    everything = ("*",)
    settings = replace(DEFAULTS, write_tools=everything, read_tools=everything, command_tools=everything)
    assert tool_class("x", settings) is ToolClass.write
    assert tool_class("x", replace(settings, write_tools=())) is ToolClass.read
    assert tool_class("x", replace(settings, write_tools=(), read_tools=())) is ToolClass.command


def test_other_lists_classify_the_same_name_differently():
    assert tool_class("fetch", DEFAULTS) is ToolClass.other
    assert tool_class("fetch", replace(DEFAULTS, read_tools=("fetch",))) is ToolClass.read


@given(st.text("abAB_", max_size=5) | st.just("a" * 300), GLOBS, GLOBS, GLOBS)
def test_does_what_the_specification_says(tool, write, read, command):
    settings = replace(DEFAULTS, write_tools=write, read_tools=read, command_tools=command)
    expected = next(
        (
            name.removesuffix("_tools")
            for name in LISTS
            if any(fnmatchcase(tool.lower(), glob) for glob in getattr(settings, name))
        ),
        "other",
    )
    assert tool_class(tool, settings) == expected


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


POLLING = ToolPolicy("get_*", PolicyMode.polling)
EXEMPT = ToolPolicy("*", PolicyMode.exempt)


class Unhashed(tuple[ToolPolicy, ...]):
    """Policies that nobody can afford to look at as a whole."""

    __slots__ = ()

    def __hash__(self) -> int:
        raise AssertionError("hashed")

    def __eq__(self, other: object) -> bool:
        raise AssertionError("compared")


def test_the_first_that_fits_holds_whatever_the_case_of_the_name() -> None:
    assert first_policy("GET_User", (POLLING, EXEMPT)) is POLLING
    assert first_policy("GET_User", (EXEMPT, POLLING)) is EXEMPT
    assert first_policy("search", (POLLING,)) is None


def test_policies_are_neither_hashed_nor_compared_for_a_record() -> None:
    policies = Unhashed((POLLING, EXEMPT))
    assert first_policy("get_user", policies) is POLLING
    assert first_policy("get_user", policies) is POLLING
    assert first_policy("search", policies) is EXEMPT


def test_more_settings_than_are_remembered_do_not_get_mixed_up() -> None:
    several = [(ToolPolicy("a", PolicyMode.polling, warn=number),) for number in range(1, 30)]
    for _ in range(2):
        found = [first_policy("a", policies) for policies in several]
        assert [policy.warn for policy in found if policy is not None] == list(range(1, 30))


def test_more_names_than_are_remembered_and_very_long_ones_find_theirs() -> None:
    policies = (POLLING, EXEMPT)
    names = [f"{'get_' if number % 2 else ''}{number}" for number in range(10_000)] + ["get_" + "x" * 9_000]
    for name in names + names[:10]:
        assert first_policy(name, policies) is (POLLING if name.startswith("get_") else EXEMPT)

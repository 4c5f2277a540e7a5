from dataclasses import replace
from fnmatch import fnmatchcase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.core.detectors.settings import DEFAULTS
from streams.core.domain.tool_class import ToolClass, tool_class

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

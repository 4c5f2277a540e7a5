import pytest

from streams.core.domain.settings.setting import whole
from streams.core.domain.settings.tools import groups, policies
from streams.core.domain.tool_class import PolicyMode, ToolGroup, ToolPolicy

POLICIES = policies(whole(2, 100_000))


def test_groups_in_their_order():
    document = [{"group": "search", "patterns": ["search_*", "find"]}, {"group": "none", "patterns": []}]
    read = groups().read(document)
    assert read == (ToolGroup("search", ("search_*", "find")), ToolGroup("none", ()))
    assert groups().write(read) == document


@pytest.mark.parametrize(
    "value",
    [
        [{"group": "", "patterns": ["a"]}],
        [{"group": "a"}],
        [{"group": "a", "patterns": "a*"}],
        [{"group": "a", "patterns": ["a", "a"]}],
        [{"group": "a", "patterns": [], "more": 1}],
        [{"group": 1, "patterns": []}],
        [{"group": ["a"], "patterns": []}],
        [{"group": "a", "patterns": []}, {"group": "a", "patterns": []}],
        ["a"],
        {"a": []},
        None,
    ],
)
def test_not_groups(value):
    assert groups().read(value) is None


def test_policies_in_their_order():
    document = {
        "get_*": {"mode": "exempt"},
        "wait": {"mode": "polling"},
        "poll_*": {"mode": "polling", "warn": 5},
        "list": {"mode": "polling", "loop": 5},
        "get_user": {"mode": "limits", "warn": 5, "loop": 5},
    }
    read = POLICIES.read(document)
    assert read == (
        ToolPolicy("get_*", PolicyMode.exempt),
        ToolPolicy("wait", PolicyMode.polling),
        ToolPolicy("poll_*", PolicyMode.polling, warn=5),
        ToolPolicy("list", PolicyMode.polling, loop=5),
        ToolPolicy("get_user", PolicyMode.limits, 5, 5),
    )
    written = POLICIES.write(read)
    assert list(written.items()) == list(document.items())
    assert all(type(policy["mode"]) is str for policy in written.values())


@pytest.mark.parametrize(
    "policy",
    [
        {"mode": "exempt", "warn": 3},
        {"mode": "limits"},
        {"mode": "limits", "warn": 3},
        {"mode": "limits", "loop": 3},
        {"mode": "limits", "warn": 5, "loop": 4},
        {"mode": "limits", "warn": 1, "loop": 4},
        {"mode": "limits", "warn": 2, "loop": 100_001},
        {"mode": "limits", "warn": 2.0, "loop": 4},
        {"mode": "limits", "warn": 2, "loop": 4, "more": 5},
        {"mode": "polling", "warn": 7, "loop": 6},
        {"mode": "polling", "warn": None},
        {"mode": "never"},
        {"warn": 2, "loop": 3},
        {},
        "exempt",
        None,
    ],
)
def test_not_a_policy(policy):
    assert POLICIES.read({"fine": {"mode": "exempt"}, "tool": policy}) is None


@pytest.mark.parametrize("value", [[], "x", None, {"\ud800": {"mode": "exempt"}}])
def test_not_a_map_of_policies(value):
    assert POLICIES.read(value) is None


WILD = ["[a-z]" * 200, "?" * 1_000]


def test_patterns_that_take_long_to_search_are_taken_up_to_a_sum_of_characters():
    assert groups().read([{"group": glob[:1], "patterns": [glob]} for glob in WILD])
    assert groups().read([{"group": glob[:1], "patterns": [glob, "?"]} for glob in WILD]) is None
    assert POLICIES.read({glob: {"mode": "exempt"} for glob in WILD})
    assert POLICIES.read({glob: {"mode": "exempt"} for glob in [*WILD, "?"]}) is None


def test_other_patterns_are_taken_in_any_number():
    assert len(POLICIES.read({f"tool-{number}-*": {"mode": "exempt"} for number in range(9_000)})) == 9_000

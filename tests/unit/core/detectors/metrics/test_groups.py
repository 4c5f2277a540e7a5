"""The window of groups."""

from hypothesis import given
from hypothesis import strategies as st

from streams.core.detectors.metrics.detector import grouped
from streams.core.domain.shared_window import append, letter
from streams.core.domain.tool_class import ToolGroup, grouping

SETTINGS = st.sampled_from([(), (ToolGroup("all", ("*",)),), (ToolGroup("search", ("web_*", "find")),)])
NAMES = st.sampled_from(["web_a", "web_b", "find", "Find", "find_v2", "", "read"])


@given(st.lists(NAMES, min_size=1, max_size=20), SETTINGS, st.integers(2, 8))
def test_places_are_equal_exactly_when_their_groups_are(
    called: list[str], tool_groups: tuple[ToolGroup, ...], size: int
) -> None:
    names: list[str | None] = []
    order = ""
    for name in called:
        names, order = append(names, order, name, size)
    group_of = grouping(tool_groups)
    expected = [group_of(name) for name in called[-size:]]
    group, groups = grouped(names, order, tool_groups)
    assert group == expected[-1]
    assert [groups.index(each) for each in groups] == [expected.index(each) for each in expected]


def test_more_names_than_are_remembered_have_groups_too() -> None:
    names = [f"tool_{at // 2}_v{at % 2}" for at in range(40)]
    _, groups = grouped(names, "".join(letter(at) for at in range(40)), ())
    assert groups == "".join(letter(at // 2 * 2) for at in range(40))

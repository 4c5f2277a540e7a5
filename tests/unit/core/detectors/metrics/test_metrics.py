"""The reported metrics: entropy, periods, n-grams, groups."""

from typing import Any

import pytest

from tests.stream import Stream, block, decision_log


def seen(stream: Stream, tools: list[str | None], *path: str) -> Any:
    """One field of the block of every record, or the fields named of each."""
    outcomes = stream.run([decision_log("work", tool, number=at) for at, tool in enumerate(tools)])
    blocks = [block(outcome, "metrics") for outcome in outcomes]
    if len(path) == 1:
        return [each[path[0]] for each in blocks]
    return [tuple(each[name] for name in path) for each in blocks]


class TestTheExamplesOfTheSpecification:
    def test_two_tools_in_turn_have_period_two_and_one_bit(self) -> None:
        fields = ("period", "period_repeats", "shannon_bits", "ngram_top_count")
        assert seen(Stream(), [*"ababab"], *fields) == [
            (None, None, 0.0, 0),
            (None, None, 1.0, 0),
            (None, None, 0.9183, 1),
            (2, 2, 1.0, 1),
            (2, 2, 0.971, 2),
            (2, 3, 1.0, 2),
        ]

    def test_versions_of_a_tool_are_one_group(self) -> None:
        fields = ("group", "group_run", "group_period", "group_period_repeats", "period")
        assert seen(Stream(), ["call_api_v1", "call_api_v2", "Call_API_v3"], *fields) == [
            ("call_api", 1, None, None, None),
            ("call_api", 2, 1, 2, None),
            ("call_api", 3, 1, 3, None),
        ]


class TestNames:
    def test_one_name_alone_is_as_varied_as_can_be_and_twice_not_at_all(self) -> None:
        assert seen(Stream(), ["a", "a"], "shannon_bits", "shannon_normalised") == [(0.0, 1.0), (0.0, 0.0)]

    def test_only_the_newest_names_count(self) -> None:
        assert seen(Stream(metrics_window=2), [*"aab"], "shannon_bits") == [0.0, 0.0, 1.0]
        assert seen(Stream(metrics_window=2), [*"abcabc"], "ngram_top_count") == [0] * 6

    def test_a_window_that_shrinks_keeps_the_newest_and_one_that_grows_restores_nothing(self) -> None:
        stream = Stream()
        seen(stream, [*"abcd"], "shannon_bits")
        stream.set(metrics_window=2)
        assert seen(stream, [*"e"], "shannon_bits") == [1.0]
        stream.set(metrics_window=16)
        assert seen(stream, [*"ef"], "shannon_bits") == [0.9183, 1.5]

    def test_a_record_without_a_tool_has_the_empty_name(self) -> None:
        fields = ("group", "group_run", "period")
        assert seen(Stream(), [None, "", "a"], *fields) == [("", 1, None), ("", 2, 1), ("a", 1, None)]

    def test_case_tells_names_apart_but_not_groups(self) -> None:
        assert seen(Stream(), ["Bash", "bash"], "period", "group_period") == [(None, None), (None, 1)]

    @pytest.mark.parametrize(("size", "count"), [(2, 3), (3, 2), (5, 1), (7, 0)])
    def test_the_length_of_an_ngram_is_a_setting(self, size: int, count: int) -> None:
        assert seen(Stream(metrics_ngram=size), [*"ababab"], "ngram_top_count")[-1] == count

    def test_overlapping_ngrams_count(self) -> None:
        assert seen(Stream(), [*"aaaaa"], "ngram_top_count") == [0, 0, 1, 2, 3]

    def test_long_names_are_told_apart_by_their_ends(self) -> None:
        names = ["x" * 5000 + end for end in "abab"]
        assert seen(Stream(), names, "period")[-1] == 2


SEARCH = [{"group": "search", "patterns": ["search_*", "*_find"]}]


class TestGroups:
    def test_the_first_group_with_a_pattern_that_fits_holds(self) -> None:
        groups = [*SEARCH, {"group": "all", "patterns": ["*_web", "mail"]}]
        tools: list[str | None] = ["search_web", "Web_Find", "the_web", "Mail", "read_v2"]
        assert seen(Stream(tool_groups=groups), tools, "group") == ["search", "search", "all", "all", "read"]

    def test_what_is_said_of_names_is_said_of_groups(self) -> None:
        tools: list[str | None] = ["search_a", "read", "search_b", "read"]
        fields = ("period", "shannon_bits", "group_period", "group_period_repeats", "group_shannon_bits")
        assert seen(Stream(tool_groups=SEARCH), tools, *fields)[-1] == (None, 1.5, 2, 2, 1.0)

    def test_new_groups_hold_for_the_whole_window(self) -> None:
        stream = Stream()
        assert seen(stream, ["search_a", "search_b"], "group_run") == [1, 1]
        stream.set(tool_groups=SEARCH)
        assert seen(stream, ["search_c"], "group", "group_run") == [("search", 3)]

    def test_a_group_of_names_that_left_and_came_back_is_one_group(self) -> None:
        tools: list[str | None] = ["a_v1", "b", "c", "a_v2", "b", "a_v1", "a_v2"]
        assert seen(Stream(metrics_window=3), tools, "group_run")[-1] == 2

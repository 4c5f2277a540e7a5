"""Names are found for what the settings allow, and none where they allow nothing."""

import pytest

from streams.core.detectors.settings import DEFAULTS, DetectionSettings
from streams.core.domain.tool_class import PolicyMode, ToolClass
from streams.core.policy.witness import tool_name
from streams.core.settings_document import resolve


def under(**changes: object) -> DetectionSettings:
    settings, warnings = resolve(changes, DEFAULTS, 1)
    assert not warnings
    return settings


@pytest.mark.parametrize(
    ("globs", "name"),
    [
        (["get_*"], "get_"),
        (["v[0-9]?"], "v0a"),
        (["[!a-z]up"], "_up"),
        (["[]x]y"], "]y"),
        (["open["], "open["),
        (["Read*", "cat"], "cat"),
        (["Read*"], None),
        ([], None),
        (["edit*"], None),
    ],
)
def test_a_name_is_made_of_a_glob_unless_no_lower_case_name_fits_or_another_class_takes_it(globs, name):
    assert tool_name(under(read_tools=globs), {ToolClass.read}) == name


def test_a_familiar_name_is_preferred():
    assert tool_name(under(read_tools=["zzz", "*"]), {ToolClass.read}) == "search"


def test_the_first_policy_that_fits_decides():
    settings = under(tool_policies={"s*": {"mode": "exempt"}, "*": {"mode": "polling"}})
    assert tool_name(settings, policies={PolicyMode.exempt}) == "search"
    assert tool_name(settings, policies={PolicyMode.polling}) == "read_file"
    assert tool_name(settings, policies={None}) is None


def test_of_thousands_of_globs_only_some_are_tried_on_thousands(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[str] = []

    def mode(name: str, _settings: DetectionSettings) -> PolicyMode:
        tried.append(name)
        return PolicyMode.exempt

    settings = under(tool_policies={**{f"t{number}_*": {"mode": "exempt"} for number in range(5_000)}})
    monkeypatch.setattr("streams.core.policy.witness._mode", mode)
    assert tool_name(settings, policies={None}) is None
    assert len(tried) < 500


def test_many_globs_of_one_setting_do_not_hide_those_of_another() -> None:
    reading = ["?*", *(f"r{number}_*" for number in range(1_000))]
    settings = under(read_tools=reading, tool_policies={"poll_it": {"mode": "polling"}})
    assert tool_name(settings, policies={PolicyMode.polling}) == "poll_it"

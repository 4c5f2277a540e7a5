"""The same session under other settings; and under the same settings the same verdict."""

import pytest

from streams.console.whatif import SLIDERS, changed, counterfactual, judge_again
from streams.core.detectors.settings import DEFAULTS
from streams.core.domain.event_kind import EventKind
from streams.core.errors import ConfigurationError
from streams.core.settings_document import RANGES, to_document
from tests.unit.console.step_diff.recorded import NAMES, recorded


@pytest.mark.parametrize("name", NAMES)
def test_under_the_settings_in_force_the_verdict_is_the_published_one(name: str) -> None:
    found = judge_again(recorded(name), DEFAULTS)
    assert found.levels == found.published
    assert found.differing == 0
    assert found.first_loop == found.first_published_loop


def test_a_higher_limit_finds_the_loop_later() -> None:
    found = judge_again(recorded("read_loop"), changed(DEFAULTS, {"identical_loop": 7, "stuck_loop": 8}))
    assert (found.first_published_loop, found.first_loop) == (9, 11)
    assert found.differing == 2


def test_a_setting_that_is_not_possible_is_refused_with_its_range() -> None:
    with pytest.raises(ConfigurationError, match="identical_loop: must be"):
        changed(DEFAULTS, {"identical_loop": 10**9})


def test_every_slider_begins_and_ends_where_the_setting_may_be() -> None:
    document = to_document(DEFAULTS)
    for each in SLIDERS:
        assert each.lowest <= document[each.name] <= each.highest
        low, high = each.lowest, each.highest
        for end in (low, high):
            assert RANGES[each.name].read(type(document[each.name])(end)) is not None


def test_what_a_pause_would_have_saved_is_the_newest_minus_the_first_event() -> None:
    events = [
        fields
        for step in recorded("read_loop")
        for fields in step.record["eddy"]["events"]
        if fields["event_type"] == EventKind.LOOP_EPISODE
    ]
    saved = counterfactual(events)
    assert saved.tokens == events[-1]["tokens_since_onset"] - events[0]["tokens_since_onset"] > 0
    assert saved.cost is not None
    assert counterfactual(events[:1]) == (0, 0.0)

import dataclasses

import pytest

from streams.core.detectors.settings import DEFAULTS, DetectionSettings


def test_version_0_is_the_built_in_defaults():
    assert DEFAULTS.version == 0


def test_settings_cannot_be_changed_in_place():
    with pytest.raises(dataclasses.FrozenInstanceError):
        DEFAULTS.stuck_steps = 6  # type: ignore[misc]
    with pytest.raises(TypeError):
        DEFAULTS.repeat_thresholds["tool"] = 2  # type: ignore[index]
    with pytest.raises(TypeError):
        DEFAULTS.signal_weights["loop_risk"] = 1  # type: ignore[index]


def test_equal_settings_have_one_hash():
    assert hash(DetectionSettings()) == hash(DEFAULTS)
    assert {DEFAULTS: "found"}[DetectionSettings()] == "found"

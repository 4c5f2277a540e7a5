"""Settings documents as anybody may write them to the topic."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

import orjson

from streams.core.detectors.settings import DEFAULTS
from streams.core.domain.text.glob import Globs
from streams.core.settings_document import ORDERED_GROUPS, RANGES, ShadowDocument, resolve, to_document
from streams.kafka.settings_feed import apply_document, apply_shadow
from tests.fuzz.choices import Choices
from tests.fuzz.target import Target

_NAMES = tuple(RANGES)
_DEFAULTS = to_document(DEFAULTS)
_GLOBS = ("*", "a*", "[", "[!", "[z-a]", "[[]", "[a&&b]", "[]-a]", "?*?*", "\\", "(?P<x>", "tool|llm", "\x00")


def chosen_document(choices: Choices) -> dict[str, Any]:
    """A document of a few keys, most of them settings with values near their own."""
    return {
        choices.one_of(_NAMES) if choices.byte() < 250 else choices.text(): _value(choices)
        for _ in range(choices.byte() % 8)
    }


def _value(choices: Choices) -> Any:
    match choices.byte() % 8:
        case 0 | 1:
            return choices.byte() % 20
        case 2:
            return choices.byte() / 200
        case 3:
            return _DEFAULTS[choices.one_of(_NAMES)]
        case 4:
            return [choices.one_of(_GLOBS) for _ in range(choices.byte() % 4)]
        case 5:
            return {choices.one_of(_GLOBS): choices.json(2) for _ in range(choices.byte() % 3)}
        case _:
            return choices.json()


def attack_document(data: bytes) -> None:
    """No document raises; what is in force afterwards is within the ranges and survives being written."""
    settings = DEFAULTS
    tried = ShadowDocument()
    choices = Choices(data)
    if choices.byte() % 2:
        document = {"version": 1, **chosen_document(choices)}
        settings, refused = resolve(document, DEFAULTS, 1)
        for warning in refused:
            assert warning.problem
    else:
        for offset, line in enumerate(choices.rest().split(b"\n")[:5]):
            settings = apply_document(settings, line)
            tried = apply_shadow(tried, line, offset)
    for each in (settings, tried.settings or DEFAULTS):
        _holds(each)


def _holds(settings: Any) -> None:
    written = to_document(settings)
    assert resolve(orjson.loads(orjson.dumps(written)), DEFAULTS, settings.version) == (settings, ())
    for name, allowed in RANGES.items():
        assert allowed.read(written[name]) == getattr(settings, name)
    assert all(group.holds(settings) for group in ORDERED_GROUPS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for globs in (settings.read_tools, settings.write_tools, settings.command_tools):
            Globs(globs).match("a tool")


def _seeds() -> Iterable[bytes]:
    yield b"\x00" + orjson.dumps({"version": 1, **_DEFAULTS})
    yield b"\x00" + b'{"version":1,"entropy_window_size":7}\n{"version":2}\nnull'
    yield from (bytes([1, 7, *range(start, 250)]) for start in range(0, 60, 10))


SETTINGS = Target(
    "settings", attack_document, _seeds, [f'"{name}":' for name in ("version", "changed", *_NAMES)]
)

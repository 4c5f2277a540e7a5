"""Which settings a word means: the defaults, a file, or what a settings topic holds."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import click

from streams.cli.settings_file import settings_in_force
from streams.core.detectors.settings import DEFAULTS, DetectionSettings
from streams.core.domain.topic import Topic
from streams.core.errors import ConfigurationError
from streams.kafka.client import Stored
from streams.kafka.settings_feed import apply_document
from streams.operate.explain.settings_topic import in_force, read, tried_out

DEFAULT: Final = "default"
LIVE: Final = "live"
SHADOW: Final = "shadow"

CHOICE: Final = "default, live, shadow, a version of detector-config, or a file with a JSON document."
"""What a word may be, for the help of an option."""


class Chosen(NamedTuple):
    """Settings, and how people call them."""

    name: str
    settings: DetectionSettings


def choose(words: Sequence[tuple[str, str]], bootstrap_servers: str | None) -> list[Chosen]:
    """Return the settings that each (option, word) means; brokers are asked only where a word needs them.

    ``default`` are the built-in defaults, ``live`` the settings in force, ``shadow`` those tried out, a
    whole number that version of the settings topic, and anything else a file. What is wrong with a file's
    document goes to standard error.

    Raises:
        ConfigurationError: the topic does not hold that version, or nothing is tried out.
        click.BadParameter: a file cannot be read, or does not hold one JSON object.
        InfrastructureError: no broker answers.
    """
    live: list[Stored] = []
    tried: list[Stored] = []
    if any(_is_on_a_topic(word) for _, word in words):
        live, tried = asyncio.run(read(bootstrap_servers, Topic.DETECTOR_CONFIG, Topic.SHADOW_CONFIG))
    return [_chosen(option, word, live, tried) for option, word in words]


def _is_on_a_topic(word: str) -> bool:
    return word in {LIVE, SHADOW} or _is_version(word)


def _is_version(word: str) -> bool:
    return word.isascii() and word.isdigit()


def _chosen(option: str, word: str, live: Iterable[Stored], tried: Sequence[Stored]) -> Chosen:
    if word == DEFAULT:
        return Chosen("the defaults", DEFAULTS)
    if word == LIVE:
        settings = in_force(list(live))
        return Chosen(f"version {settings.version}, in force", settings)
    if word == SHADOW:
        shadow = tried_out(tried).settings
        if shadow is None:
            raise ConfigurationError("Nothing is tried out: begin with `eddy config shadow set`.")
        return Chosen(f"shadow version {shadow.version}", shadow)
    if _is_version(word):
        return Chosen(f"version {int(word)}", version_of(int(word), live))
    path = Path(word)
    if not path.is_file():
        hint = f"'{option}'"
        words = f"{DEFAULT}, {LIVE}, {SHADOW}, a version"
        raise click.BadParameter(f"{word!r} is no file, and none of: {words}.", param_hint=hint)
    return Chosen(word, settings_in_force(path, option))


def version_of(version: int, records: Iterable[Stored]) -> DetectionSettings:
    """Return the settings of a version, as a worker that has read the records had them in force.

    Raises:
        ConfigurationError: there is no such version among those the topic still holds.
    """
    settings = DEFAULTS
    found = {settings.version: settings}
    for record in records:
        settings = apply_document(settings, record.value)
        found[settings.version] = settings
    if version not in found:
        known = ", ".join(map(str, found))
        raise ConfigurationError(
            f"There is no settings version {version}; {Topic.DETECTOR_CONFIG} holds {known}. "
            "`eddy config history` shows them."
        )
    return found[version]

"""What the documents on the settings topics did, one after another: as every worker reads them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from streams.console.read_model.rows import VersionRow
from streams.core.detectors.settings import DEFAULTS, DetectionSettings
from streams.core.domain.topic import Topic
from streams.core.settings_document import SettingWarning, follows, is_empty, resolve
from streams.kafka.settings_feed import read_document
from streams.operate.explain.settings_topic import differing


class Version(NamedTuple):
    """A document, and what it did.

    Attributes:
        row: as it stands on the topic.
        before, after: the settings before and after it; None where nothing was tried out.
        ignored: why the workers ignore it; empty if they follow it.
        warnings: what of it they refuse.
    """

    row: VersionRow
    before: DetectionSettings | None
    after: DetectionSettings | None
    ignored: str = ""
    warnings: tuple[SettingWarning, ...] = ()

    @property
    def changed(self) -> dict[str, tuple[Any, Any]]:
        """Each setting that it changed, with its values before and after."""
        return differing(self.before or DEFAULTS, self.after or DEFAULTS)


class Settings(NamedTuple):
    """What is in force, what is tried out, and how it came to that.

    Attributes:
        history: the versions of `detector-config`, oldest first.
        trials: Versions of `shadow-config`, newest first.
    """

    history: tuple[Version, ...] = ()
    trials: tuple[Version, ...] = ()

    @property
    def in_force(self) -> DetectionSettings:
        """The settings of a worker that has read these documents."""
        return (self.history[-1].after if self.history else None) or DEFAULTS

    @property
    def tried(self) -> DetectionSettings | None:
        """What is tried out; None if nothing is."""
        return self.trials[-1].after if self.trials else None

    def version(self, number: int) -> DetectionSettings | None:
        """Return the settings of a version that was in force, 0 for the defaults; None if it is not held."""
        if number == 0:
            return DEFAULTS
        return next(
            (each.after for each in reversed(self.history) if each.after and each.after.version == number),
            None,
        )

    def set_by(self) -> dict[str, Version]:
        """Return for each setting that is not as at the beginning the version that gave it its value."""
        return {name: each for each in self.history for name in each.changed}


def settings_of(rows: Mapping[tuple[Any, ...], VersionRow]) -> Settings:
    """Return what the rows of the settings topics add up to, by topic and offset."""
    ordered = sorted(rows.values(), key=lambda row: row.offset)
    return Settings(
        tuple(_live(row for row in ordered if row.topic == Topic.DETECTOR_CONFIG)),
        tuple(_tried(row for row in ordered if row.topic == Topic.SHADOW_CONFIG)),
    )


def _live(rows: Iterable[VersionRow]) -> Iterable[Version]:
    settings, version = DEFAULTS, 0
    for row in rows:
        found = document_of(row, version)
        if isinstance(found, str):
            yield Version(row, settings, settings, found)
            continue
        version, document = found
        after, warnings = resolve(document, settings, version)
        yield Version(row, settings, after, "", warnings)
        settings = after


def _tried(rows: Iterable[VersionRow]) -> Iterable[Version]:
    settings: DetectionSettings | None = None
    version = 0
    for row in rows:
        if row.body is None:
            yield Version(row, settings, None)
            settings, version = None, 0
            continue
        found = document_of(row, version)
        if isinstance(found, str):
            yield Version(row, settings, settings, found)
            continue
        version, document = found
        if is_empty(document):
            yield Version(row, settings, None)
            settings = None
            continue
        after, warnings = resolve(document, settings or DEFAULTS, version)
        yield Version(row, settings, after, "", warnings)
        settings = after


def document_of(row: VersionRow, known: int) -> tuple[int, dict[str, Any]] | str:
    """Return version and document of a row, or why the workers ignore it."""
    try:
        version, document = read_document(None if row.body is None else row.body.encode())
    except ValueError as error:
        return f"{error}"
    if not follows(version, known):
        return f"version {version} does not follow version {known}"
    return version, document

"""The one way to publish settings: checked, written, and sure to be those that count."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from streams.core.detectors.settings import DetectionSettings
from streams.core.domain.topic import Topic
from streams.core.errors import ConfigurationError, ConflictError
from streams.core.settings_document import FARTHEST, ShadowDocument, follows, next_version
from streams.kafka.client import Brokers
from streams.operate.explain.settings_topic import in_force, next_document, records, tried_out, write


class SettingsConflictError(ConflictError):
    """Somebody else changed the settings at the same moment. Look at them and try again."""


def changed_document(
    settings: DetectionSettings,
    changes: Mapping[str, Any],
    changed: Mapping[str, Any],
    version: int | None = None,
) -> dict[str, Any]:
    """Return the next document: the one in force with ``changes``, complete and checked.

    Args:
        settings: The detection settings that are in force.
        changes: What is to be otherwise.
        changed: By whom, when and why.
        version: Instead of the one after that in force.

    Raises:
        ConfigurationError: names each change that is not acceptable. Nothing was published.
    """
    if version is not None and not follows(version, settings.version):
        raise ConfigurationError(
            f"Not changed: version {settings.version} is in force, workers would ignore version {version}. "
            f"Give none, or a higher one that is less than {FARTHEST} ahead."
        )
    after = next_version(settings.version) if version is None else version
    return next_document(settings, after, changes, changed)


async def publish(brokers: Brokers, document: Mapping[str, Any]) -> int:
    """Write the document, make sure that it is the one that counts, and return its offset.

    Raises:
        SettingsConflictError: another document of the same version, or a later one, came first.
    """
    offset = await write(brokers, Topic.DETECTOR_CONFIG, document)
    before = in_force([record for record in await records(brokers) if record.offset < offset]).version
    if not follows(document["version"], before):
        raise SettingsConflictError(
            f"Another user published version {before} at the same moment, so the workers ignore yours. "
            "Look at `eddy config history` and try again."
        )
    return offset


class ShadowConflictError(ConflictError):
    """Another user changed the shadow settings at the same moment. Look at them and try again."""


async def publish_shadow(brokers: Brokers, document: Mapping[str, Any]) -> int:
    """Write the document, make sure that it is the one that counts, and return its offset.

    Raises:
        ShadowConflictError: another document of the same version, or a later one, came first.
    """
    offset = await write(brokers, Topic.SHADOW_CONFIG, document)
    until = [record for record in await records(brokers, Topic.SHADOW_CONFIG) if record.offset <= offset]
    if tried_out(until).position != offset + 1:
        raise ShadowConflictError(
            f"Another user published shadow settings version {document['version']} or later at the same "
            "moment, so the workers ignore yours. Look at `eddy config shadow history` and try again."
        )
    return offset


def trial_document(
    live: DetectionSettings, tried: ShadowDocument, changes: Mapping[str, Any], changed: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the document that tries out ``live`` with ``changes``, or ends the trial if there are none.

    Raises:
        ConfigurationError: names each change that is not acceptable. Nothing was published.
    """
    version = next_version(tried.version)
    if not changes:
        # No tombstone: who ended it, when and why would be lost with the versions before.
        return {"version": version, "changed": {**changed, "settings": []}}
    return next_document(live, version, changes, changed)

"""A topic of settings documents: what stands on it, what is in force, and the one way to publish the next."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from streams.core.detectors.settings import DEFAULTS, DetectionSettings
from streams.core.domain.record import Outgoing
from streams.core.domain.topic import Topic
from streams.core.errors import ConfigurationError, ConflictError
from streams.core.settings_document import (
    FARTHEST,
    ShadowDocument,
    follows,
    next_version,
    resolve,
    to_document,
)
from streams.kafka.client import Brokers, Stored, connect
from streams.kafka.settings_feed import LARGEST_DOCUMENT, apply_document, apply_shadow
from streams.observe.settings import ConnectionSettings, load
from streams.worker.endpoints import connection

#: The one key of a settings topic.
KEY = b"settings"


async def records(brokers: Brokers, topic: Topic = Topic.DETECTOR_CONFIG) -> list[Stored]:
    """Return what stands on a settings topic, oldest first."""
    return [record async for record in brokers.read(brokers.topic(topic), [0])]


async def read(bootstrap_servers: str | None, *topics: Topic) -> list[list[Stored]]:
    """Return what stands on each of the topics.

    Raises:
        InfrastructureError: no broker answers, or a topic is missing.
    """
    settings = load(ConnectionSettings, bootstrap_servers=bootstrap_servers)
    async with connect(connection(settings)) as brokers:
        return [await records(brokers, topic) for topic in topics]


async def write(brokers: Brokers, topic: Topic, document: Mapping[str, Any]) -> int:
    """Append a document to a settings topic; return its offset."""
    record = Outgoing(KEY, orjson.dumps(document), int(time.time() * 1000))
    [(_, offset)] = await brokers.write(brokers.topic(topic), [(0, record)])
    return offset


def in_force(stored: Sequence[Stored]) -> DetectionSettings:
    """Return the settings a worker that has read these records has in force."""
    settings = DEFAULTS
    for record in stored:
        settings = apply_document(settings, record.value)
    return settings


def tried_out(stored: Sequence[Stored]) -> ShadowDocument:
    """Return what a worker that has read these records of the shadow topic tries out."""
    tried = ShadowDocument()
    for record in stored:
        tried = apply_shadow(tried, record.value, record.offset)
    return tried


def next_document(
    before: DetectionSettings, version: int, changes: Mapping[str, Any], changed: Mapping[str, Any]
) -> dict[str, Any]:
    """Return a document that is ``before`` with ``changes``, complete and checked.

    ``changed`` says who changes settings, when and why; which of them differ is added.

    Raises:
        ConfigurationError: names each change that is not acceptable. Nothing was published.
    """
    resolved, warnings = resolve({**to_document(before), **changes}, before, version)
    if warnings:
        problems = "; ".join(f"{warning.setting}: {warning.problem}" for warning in warnings)
        raise ConfigurationError(f"Not changed: {problems}. `eddy config list` shows what is in force.")
    change = {**changed, "settings": sorted(differing(before, resolved))}
    document = {"version": version, "changed": change, **to_document(resolved)}
    if (size := len(orjson.dumps(document))) > LARGEST_DOCUMENT:
        raise ConfigurationError(
            f"Not changed: all settings together would have {size} bytes and may have {LARGEST_DOCUMENT}; "
            "the workers would ignore them. Say it with fewer or shorter patterns."
        )
    return document


def differing(before: DetectionSettings, after: DetectionSettings) -> dict[str, tuple[Any, Any]]:
    """Return each setting that differs with its values: (before, after).

    >>> from dataclasses import replace
    >>> differing(DEFAULTS, replace(DEFAULTS, version=3, cycle_loop=4))
    {'cycle_loop': (3, 4)}
    """
    old, new = to_document(before), to_document(after)
    return {name: (old[name], value) for name, value in new.items() if value != old[name]}


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

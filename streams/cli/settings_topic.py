"""A topic of settings documents, as `eddy config` reads and writes it."""

from __future__ import annotations

import getpass
import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import click
import orjson

from streams.app import connection
from streams.domain.detection_settings import DEFAULTS, DetectionSettings
from streams.domain.outgoing import Outgoing
from streams.domain.settings_document import resolve, to_document
from streams.domain.shadow import ShadowDocument
from streams.domain.topic import Topic
from streams.engine.client import Brokers, Stored, connect
from streams.engine.config_feed import LARGEST_DOCUMENT, apply_document, apply_shadow
from streams.errors import ConfigurationError
from streams.settings import ConnectionSettings, load

#: The one key of a settings topic.
KEY = b"settings"

BOOTSTRAP = click.option("--bootstrap-servers", help="Brokers [EDDY_BOOTSTRAP_SERVERS].")
AS_JSON = click.option("--json", "as_json", is_flag=True, help="For machines.")
PAIRS = click.argument("pairs", nargs=-1, metavar="NAME=VALUE...")
UNSET = click.option("--unset", multiple=True, metavar="NAME", help="Back to the default.")
WHY = click.option("--why", default="", help="Kept in the history.")
DRY_RUN = click.option("--dry-run", is_flag=True, help="Check the changes and show them; publish nothing.")


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
    told = {**changed, "settings": sorted(differing(before, resolved))}
    document = {"version": version, "changed": told, **to_document(resolved)}
    if (size := len(orjson.dumps(document))) > LARGEST_DOCUMENT:
        raise ConfigurationError(
            f"Not changed: all settings together would have {size} bytes and may have {LARGEST_DOCUMENT}; "
            "the workers would ignore them. Say it with fewer or shorter patterns."
        )
    return document


def assignments(pairs: Sequence[str], unset: Sequence[str]) -> dict[str, Any]:
    """Return the changes that the words of a command ask for.

    Raises:
        UsageError: a word is no assignment, a name no setting, a name stands there twice, or there is
            nothing to change.
    """
    defaults = to_document(DEFAULTS)
    changes: dict[str, Any] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals:
            raise click.UsageError(f"{pair!r} is no NAME=VALUE.")
        if name in changes:
            raise click.UsageError(f"{name} is named twice. Give one value for it.")
        changes[name] = _value(text)
    for name in unset:
        if name not in defaults:
            raise click.UsageError(f"There is no setting {name}.")
        if name in changes:
            raise click.UsageError(f"{name} is named twice. Give a value for it, or --unset.")
        changes[name] = defaults[name]
    if not changes:
        raise click.UsageError("Nothing to change: give NAME=VALUE or --unset NAME.")
    return changes


def differing(before: DetectionSettings, after: DetectionSettings) -> dict[str, tuple[Any, Any]]:
    """Return each setting that differs with its values: (before, after).

    >>> from dataclasses import replace
    >>> differing(DEFAULTS, replace(DEFAULTS, version=3, cycle_loop=4))
    {'cycle_loop': (3, 4)}
    """
    old, new = to_document(before), to_document(after)
    return {name: (old[name], value) for name, value in new.items() if value != old[name]}


def change_lines(before: DetectionSettings, after: DetectionSettings, named: Iterable[str]) -> Iterator[str]:
    """Yield a line for each setting named: its old and its new value, or that it stays as it is.

    >>> from dataclasses import replace
    >>> list(change_lines(DEFAULTS, replace(DEFAULTS, cycle_loop=4), ["cycle_loop", "cycle_warn"]))
    ['  cycle_loop: 3 → 4', '  cycle_warn: stays 2']
    """
    old, new = to_document(before), to_document(after)
    for name in named:
        value, before_it = json.dumps(new[name]), json.dumps(old[name])
        yield f"  {name}: stays {value}" if value == before_it else f"  {name}: {before_it} → {value}"


def changed_now(why: str) -> dict[str, Any]:
    """Return when a change is made, by whom and why: now, by this user."""
    return {"at": int(time.time() * 1000), "by": user(), "why": why}


def user() -> str:
    """Return who runs the command."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container may run under a number that no user has
        return f"user {os.getuid()}"


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text

"""`eddy config`: read and change the detection settings of a running job."""

from __future__ import annotations

import asyncio
import getpass
import json
import os
import time
from collections.abc import Mapping
from typing import Any

import click
import orjson

from streams.app import connection
from streams.cli.settings_history import history, line
from streams.domain.detection_settings import DEFAULTS, DetectionSettings
from streams.domain.outgoing import Outgoing
from streams.domain.settings_document import resolve, to_document
from streams.domain.topic import Topic
from streams.engine.client import Brokers, Stored, connect
from streams.engine.config_feed import apply_document, read_document, unreachable
from streams.errors import ConfigurationError
from streams.settings import ConnectionSettings, load

#: The one key of the settings topic.
KEY = b"settings"


class SettingsConflictError(ConfigurationError):
    """Somebody else changed the settings at the same moment. Look at them and try again."""


async def records(brokers: Brokers) -> list[Stored]:
    """Return what stands on the settings topic, oldest first."""
    return [record async for record in brokers.read(Topic.DETECTOR_CONFIG, [0])]


def in_force(stored: list[Stored]) -> DetectionSettings:
    """Return the settings a worker that has read these records has in force."""
    settings = DEFAULTS
    for record in stored:
        settings = apply_document(settings, record.value)
    return settings


def changed_document(
    settings: DetectionSettings, changes: Mapping[str, Any], changed: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the next document: the one in force with ``changes``, complete and checked.

    Raises:
        ConfigurationError: names each change that is not acceptable. Nothing was published.
    """
    version = settings.version + 1
    wanted = {**to_document(settings), **changes}
    resolved, warnings = resolve(wanted, settings, version)
    if warnings:
        problems = "; ".join(f"{warning.setting}: {warning.problem}" for warning in warnings)
        raise ConfigurationError(f"Not changed: {problems}. `eddy config list` shows what is in force.")
    return {"version": version, "changed": dict(changed), **to_document(resolved)}


async def publish(brokers: Brokers, document: Mapping[str, Any]) -> None:
    """Write the document and make sure that it is the one that counts.

    Raises:
        SettingsConflictError: another document of the same version, or a later one, came first.
    """
    now = int(time.time() * 1000)
    [(_, offset)] = await brokers.write(
        Topic.DETECTOR_CONFIG, [(0, Outgoing(KEY, orjson.dumps(document), now))]
    )
    for record in await records(brokers):
        try:
            version, _ = read_document(record.value)
        except ValueError:
            continue
        if version >= document["version"] and record.offset < offset:
            raise SettingsConflictError(
                f"Version {version} was published by somebody else at the same moment; yours is ignored "
                "by the workers. Look at `eddy config history` and try again."
            )


def _settings(bootstrap_servers: str | None) -> ConnectionSettings:
    return load(ConnectionSettings, bootstrap_servers=bootstrap_servers)


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _assignments(pairs: tuple[str, ...], unset: tuple[str, ...]) -> dict[str, Any]:
    defaults = to_document(DEFAULTS)
    changes: dict[str, Any] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals:
            raise click.UsageError(f"{pair!r} is no NAME=VALUE.")
        changes[name] = _value(text)
    for name in unset:
        if name not in defaults:
            raise click.UsageError(f"There is no setting {name}.")
        changes[name] = defaults[name]
    if not changes:
        raise click.UsageError("Nothing to change: give NAME=VALUE or --unset NAME.")
    return changes


_bootstrap = click.option("--bootstrap-servers", help="Brokers [EDDY_BOOTSTRAP_SERVERS].")
_json = click.option("--json", "as_json", is_flag=True, help="For machines.")


@click.group()
def config() -> None:
    """Read and change the detection settings. Every worker follows from its next run on; no restart."""


@config.command("set")
@click.argument("pairs", nargs=-1, metavar="NAME=VALUE...")
@click.option("--unset", multiple=True, metavar="NAME", help="Back to the default.")
@click.option("--why", default="", help="Kept in the history.")
@_bootstrap
def set_command(
    pairs: tuple[str, ...], unset: tuple[str, ...], why: str, bootstrap_servers: str | None
) -> None:
    """Change settings. All changes of one call take effect together, or none does.

    VALUE is JSON, or text where it is none:

        eddy config set entropy_window_size=8 node_state_source=max --why "fewer pages"
    """
    changes = _assignments(pairs, unset)
    changed = {
        "at": int(time.time() * 1000),
        "by": _user(),
        "why": why,
        "settings": sorted(changes),
    }

    async def change() -> dict[str, Any]:
        async with connect(connection(_settings(bootstrap_servers))) as brokers:
            document = changed_document(in_force(await records(brokers)), changes, changed)
            await publish(brokers, document)
            return document

    document = asyncio.run(change())
    click.echo(f"Settings version {document['version']} is published.")
    for problem in unreachable(resolve(document, DEFAULTS, document["version"])[0]):
        click.echo(f"Warning: {problem}", err=True)


@config.command("get")
@click.argument("name")
@_json
@_bootstrap
def get_command(name: str, as_json: bool, bootstrap_servers: str | None) -> None:
    """Print one setting as it is in force."""
    _, settings = asyncio.run(_read(bootstrap_servers))
    document = to_document(settings)
    if name not in document:
        raise click.UsageError(f"There is no setting {name}. `eddy config list` shows all.")
    click.echo(json.dumps({name: document[name]} if as_json else document[name]))


@config.command("list")
@click.option("--changed", "only_changed", is_flag=True, help="Only what differs from the defaults.")
@_json
@_bootstrap
def list_command(only_changed: bool, as_json: bool, bootstrap_servers: str | None) -> None:
    """Print the settings in force; a star marks what differs from the default."""
    _, settings = asyncio.run(_read(bootstrap_servers))
    defaults = to_document(DEFAULTS)
    document = {
        name: value
        for name, value in to_document(settings).items()
        if not only_changed or value != defaults[name]
    }
    if as_json:
        click.echo(json.dumps({"version": settings.version, **document}))
        return
    click.echo(f"version {settings.version}")
    for name, value in document.items():
        click.echo(f"{'*' if value != defaults[name] else ' '} {name} = {json.dumps(value)}")


@config.command("history")
@_json
@_bootstrap
def history_command(as_json: bool, bootstrap_servers: str | None) -> None:
    """Print the changes that the topic still holds, oldest first."""
    stored, _ = asyncio.run(_read(bootstrap_servers))
    for entry in history(stored):
        click.echo(json.dumps(entry) if as_json else line(entry))


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container may run under a number that no user has
        return f"user {os.getuid()}"


async def _read(bootstrap_servers: str | None) -> tuple[list[Stored], DetectionSettings]:
    async with connect(connection(_settings(bootstrap_servers))) as brokers:
        stored = await records(brokers)
    return stored, in_force(stored)

"""`eddy config`: read and change the detection settings of a running job."""

from __future__ import annotations

import asyncio
import json

import click

from streams.cli.command_group import CommandGroup
from streams.cli.config_explain import explain
from streams.cli.config_shadow import shadow
from streams.cli.settings_change import (
    AS_JSON,
    BOOTSTRAP,
    DRY_RUN,
    PAIRS,
    UNSET,
    WHY,
    assignments,
    change_lines,
    changed_now,
    complete_name,
)
from streams.cli.settings_history import history, line
from streams.cli.text.screen import echo, echo_json, echo_lines
from streams.core.detectors.settings import DEFAULTS, DetectionSettings
from streams.core.domain.topic import Topic
from streams.core.proof import warnings
from streams.core.settings_document import LARGEST_VERSION, MEANINGS, RANGES, resolve, to_document
from streams.kafka.client import Stored, connect
from streams.observe.settings import ConnectionSettings, load
from streams.operate.explain.settings_topic import (
    changed_document,
    differing,
    in_force,
    publish,
    read,
    records,
)
from streams.worker.endpoints import connection


@click.group(cls=CommandGroup)
def config() -> None:
    """Read and change the detection settings. Every worker follows from its next run on; no restart."""


config.add_command(explain)
config.add_command(shadow)


@config.command("set")
@PAIRS
@UNSET
@WHY
@click.option(
    "--version",
    type=click.IntRange(1, LARGEST_VERSION),
    help="Instead of the next one. Only for a topic that was created again: partitions keep to a higher "
    "version that they have known; the log of a worker names it.",
)
@DRY_RUN
@BOOTSTRAP
def set_command(
    *,
    pairs: tuple[str, ...],
    unset: tuple[str, ...],
    why: str,
    version: int | None,
    dry_run: bool,
    bootstrap_servers: str | None,
) -> None:
    """Change settings. All changes of one call take effect together, or none does.

    Prints the old and the new value of each setting named. If no value changes, nothing is published.

    VALUE is JSON, or text where it is none:

        eddy config set entropy_window_size=8 node_state_source=max --why "fewer pages"
    """
    changes = assignments(pairs, unset)
    settings = load(ConnectionSettings, bootstrap_servers=bootstrap_servers)

    async def change() -> tuple[DetectionSettings, DetectionSettings]:
        async with connect(connection(settings)) as brokers:
            before = in_force(await records(brokers))
            document = changed_document(before, changes, changed_now(why), version)
            after, _ = resolve(document, DEFAULTS, document["version"])
            # A version that was asked for is a change by itself: a topic that was created again needs it.
            if not dry_run and (differing(before, after) or version is not None):
                await publish(brokers, document)
            return before, after

    before, after = asyncio.run(change())
    echo_lines(change_lines(before, after, changes))
    if not differing(before, after) and version is None:
        held = f"version {before.version} in force has" if before.version else "the defaults in force have"
        echo(f"Nothing is published: {held} these values already.")
        return
    ended = "would be published (dry run)" if dry_run else "is published"
    echo(f"Settings version {after.version} {ended}.")
    for problem in warnings(after):
        echo(f"Warning: {problem}", err=True)


@config.command("describe")
@click.argument("names", nargs=-1, metavar="[NAME...]", shell_complete=complete_name)
@AS_JSON
def describe_command(names: tuple[str, ...], as_json: bool) -> None:
    """Print what each setting means, its default and what it may be. Needs no broker."""
    defaults = to_document(DEFAULTS)
    if unknown := [name for name in names if name not in RANGES]:
        raise click.UsageError(f"There is no setting {unknown[0]}. `eddy config describe` shows all.")
    for name in names or RANGES:
        wanted, default = RANGES[name].wanted, defaults[name]
        if as_json:
            echo_json({"name": name, "meaning": MEANINGS[name], "default": default, "must_be": wanted})
            continue
        echo(name)
        echo(f"    {MEANINGS[name]}")
        echo(f"    default {json.dumps(default)}")
        echo(f"    must be {wanted}")


@config.command("get")
@click.argument("name", shell_complete=complete_name)
@AS_JSON
@BOOTSTRAP
def get_command(name: str, as_json: bool, bootstrap_servers: str | None) -> None:
    """Print one setting as it is in force."""
    _, settings = asyncio.run(_read(bootstrap_servers))
    document = to_document(settings)
    if name not in document:
        raise click.UsageError(f"There is no setting {name}. `eddy config list` shows all.")
    if as_json:
        echo_json({name: document[name]})
    else:
        echo(json.dumps(document[name]))


@config.command("list")
@click.option("--changed", "only_changed", is_flag=True, help="Only what differs from the defaults.")
@AS_JSON
@BOOTSTRAP
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
        echo_json({"version": settings.version, **document})
        return
    echo(f"version {settings.version}")
    for name, value in document.items():
        echo(f"{'*' if value != defaults[name] else ' '} {name} = {json.dumps(value)}")


@config.command("history")
@AS_JSON
@BOOTSTRAP
def history_command(as_json: bool, bootstrap_servers: str | None) -> None:
    """Print the changes that the topic still holds, oldest first."""
    stored, _ = asyncio.run(_read(bootstrap_servers))
    for entry in history(stored):
        echo_json(entry) if as_json else echo(line(entry))


async def _read(bootstrap_servers: str | None) -> tuple[list[Stored], DetectionSettings]:
    [stored] = await read(bootstrap_servers, Topic.DETECTOR_CONFIG)
    return stored, in_force(stored)

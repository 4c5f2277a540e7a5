"""`eddy config shadow`: settings that are tried out on the live stream, without alerts."""

from __future__ import annotations

import asyncio
import json

import click

from streams.cli.command_group import CommandGroup
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
)
from streams.cli.settings_history import line, shadow_history
from streams.cli.text.screen import echo, echo_json, echo_lines
from streams.core.detectors.settings import DEFAULTS, DetectionSettings
from streams.core.domain.topic import Topic
from streams.core.proof import warnings
from streams.core.settings_document import ShadowDocument, resolve, to_document
from streams.kafka.client import connect
from streams.observe.settings import ConnectionSettings, load
from streams.operate.explain.settings_topic import (
    differing,
    in_force,
    publish_shadow,
    read,
    records,
    trial_document,
    tried_out,
)
from streams.worker.endpoints import connection

_NOTHING = "Nothing is tried out."


@click.group(cls=CommandGroup)
def shadow() -> None:
    """Try settings out on the live stream before they are set. They raise no alert.

    Workers judge each record under them too, with a state of its own. What they would change is counted in
    metrics (eddy_shadow_differences_total) and published on the topic shadow-differences.
    """


@shadow.command("set")
@PAIRS
@UNSET
@WHY
@DRY_RUN
@BOOTSTRAP
def set_command(
    *,
    pairs: tuple[str, ...],
    unset: tuple[str, ...],
    why: str,
    dry_run: bool,
    bootstrap_servers: str | None,
) -> None:
    """Try settings out: what is tried out already, else what is in force, with these changes.

    Prints the old and the new value of each setting named. If no value changes, nothing is published.

    VALUE is JSON, or text where it is none:

        eddy config shadow set entropy_window_size=8 --why "fewer pages?"
    """
    changes = assignments(pairs, unset)
    settings = load(ConnectionSettings, bootstrap_servers=bootstrap_servers)

    async def change() -> tuple[DetectionSettings, ShadowDocument, DetectionSettings]:
        async with connect(connection(settings)) as brokers:
            live = in_force(await records(brokers))
            tried = tried_out(await records(brokers, Topic.SHADOW_CONFIG))
            before = tried.settings or live
            document = trial_document(before, tried, changes, changed_now(why))
            after, _ = resolve(document, DEFAULTS, document["version"])
            if not dry_run and differing(before, after):
                await publish_shadow(brokers, document)
            return live, tried, after

    live, tried, after = asyncio.run(change())
    before = tried.settings or live
    echo_lines(change_lines(before, after, changes))
    if not differing(before, after):
        by = "are in force" if tried.settings is None else f"are tried out by version {tried.version}"
        echo(f"Nothing is published: these values {by} already.")
        return
    ended = "would be published (dry run)" if dry_run else "is published"
    echo(f"Shadow settings version {after.version} {ended}.")
    if tried.settings is not None:
        echo(f"Tried out beside version {live.version} in force:")
        _show(live, after)
    for problem in warnings(after):
        echo(f"Warning: {problem}", err=True)


@shadow.command("get")
@click.argument("name", required=False)
@AS_JSON
@BOOTSTRAP
def get_command(name: str | None, as_json: bool, bootstrap_servers: str | None) -> None:
    """Print what is tried out and differs from what is in force; with NAME, that setting."""
    live_records, shadow_records = asyncio.run(
        read(bootstrap_servers, Topic.DETECTOR_CONFIG, Topic.SHADOW_CONFIG)
    )
    live, tried = in_force(live_records), tried_out(shadow_records).settings
    if name is not None and name not in to_document(DEFAULTS):
        raise click.UsageError(f"There is no setting {name}. `eddy config list` shows all.")
    if tried is None:
        echo_json({"version": None}) if as_json else echo(_NOTHING)
    elif name is not None:
        value = to_document(tried)[name]
        echo_json({name: value}) if as_json else echo(json.dumps(value))
    elif as_json:
        values = {name: value for name, (_, value) in differing(live, tried).items()}
        echo_json({"version": tried.version, "in_force": live.version, **values})
    else:
        echo(f"version {tried.version}, beside version {live.version} in force")
        _show(live, tried)


@shadow.command("clear")
@WHY
@BOOTSTRAP
def clear_command(why: str, bootstrap_servers: str | None) -> None:
    """Try nothing out any more."""
    settings = load(ConnectionSettings, bootstrap_servers=bootstrap_servers)

    async def clear() -> int | None:
        async with connect(connection(settings)) as brokers:
            tried = tried_out(await records(brokers, Topic.SHADOW_CONFIG))
            if tried.settings is None:
                return None
            await publish_shadow(brokers, trial_document(DEFAULTS, tried, {}, changed_now(why)))
            return tried.version

    version = asyncio.run(clear())
    ended = f"Shadow settings version {version} are not tried out any more."
    echo(_NOTHING if version is None else ended)


@shadow.command("history")
@AS_JSON
@BOOTSTRAP
def history_command(as_json: bool, bootstrap_servers: str | None) -> None:
    """Print the changes that the topic still holds, oldest first."""
    [stored] = asyncio.run(read(bootstrap_servers, Topic.SHADOW_CONFIG))
    for entry in shadow_history(stored):
        echo_json(entry) if as_json else echo(line(entry))


def _show(live: DetectionSettings, tried: DetectionSettings) -> None:
    found = differing(live, tried)
    for name, (before, after) in found.items():
        echo(f"  {name} = {json.dumps(after)}, in force {json.dumps(before)}")
    if not found:
        echo("  No setting differs from what is in force.")

"""`eddy bridge`: turn what other programs write to a topic into decision logs."""

from __future__ import annotations

from pathlib import Path

import click

from streams.cli.command_group import CommandGroup
from streams.cli.worker_processes import own_settings, worker_options
from streams.observe.settings import BridgeSettings, load


@click.group(cls=CommandGroup)
def bridge() -> None:
    """Turn spans of OpenTelemetry on a topic into decision logs."""


@bridge.command("otlp")
@worker_options
@click.option(
    "--content",
    type=click.Choice(["full", "hash", "none"]),
    help="Texts in full, as hashes that still compare, or none [EDDY_CONTENT].",
)
def otlp(
    *,
    bootstrap_servers: str | None,
    processes: int | None,
    data_dir: Path | None,
    web_port: int | None,
    log_level: str | None,
    content: str | None,
    process: int | None,
) -> None:
    """Turn spans of OpenTelemetry on `otlp_spans` into `decision-logs` until it is stopped.

    An OpenTelemetry Collector writes the spans, in protobuf or JSON, keyed by trace. Start as many bridges as
    you like, up to the number of partitions; each needs a data directory of its own. Signals and exit codes
    are those of `eddy worker`.
    """
    settings = own_settings(
        load(
            BridgeSettings,
            bootstrap_servers=bootstrap_servers,
            processes=processes,
            data_dir=data_dir,
            web_port=web_port,
            log_level=log_level,
            content=content,
        ),
        process,
    )
    from streams.cli.running import run  # noqa: PLC0415
    from streams.worker.wiring import bridge_engine_options, build_bridge  # noqa: PLC0415 - as in `eddy worker`

    run(lambda: build_bridge(settings), bridge_engine_options(settings), settings.log_level)

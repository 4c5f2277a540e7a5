"""`eddy doctor`: everything a worker needs, and what to do about what is wrong."""

from __future__ import annotations

import asyncio
import logging
import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import click

from streams.cli.command_group import PROBLEM_FOUND
from streams.cli.settings_change import AS_JSON, BOOTSTRAP
from streams.cli.text.line import Line, TextSpan
from streams.cli.text.screen import echo, echo_json
from streams.core.domain.text.printable import printable
from streams.core.errors import ConfigurationError
from streams.observe.settings import DoctorSettings, load
from streams.operate.doctor.check import Check, CheckStatus, fail
from streams.operate.doctor.examination import examine
from streams.operate.doctor.installation import bundled_check, version_checks

_LONGEST = 2_000
_SAID_AT = 26
_COLOURS = {CheckStatus.OK: "green", CheckStatus.WARN: "yellow", CheckStatus.FAIL: "red"}


@click.command()
@click.option(
    "--data-dir",
    type=click.Path(file_okay=False, path_type=Path),
    help="Local state of the worker that is asked about [EDDY_DATA_DIR].",
)
@click.option(
    "--timeout",
    type=click.FloatRange(0.1, 600.0),
    default=10.0,
    show_default=True,
    help="Seconds that each check of something outside may take.",
)
@AS_JSON
@BOOTSTRAP
def doctor(*, data_dir: Path | None, timeout: float, as_json: bool, bootstrap_servers: str | None) -> None:
    """Check everything a worker needs, and say what to do about what is wrong.

    Looks at the installed versions, the settings, the schemas and the registry, the state directory and its
    databases, the port, the brokers with TLS and login, the topics, the detection settings in force, the
    clock and the consumer group. Run it with the environment of the worker, beside a running one or without.
    Nothing is changed. Without a broker the rest is checked all the same.

    Exit codes: 0 when nothing is broken, warnings or not; 1 when something is.
    """
    # The clients log what is said here in a sentence.
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)
    found: list[Check] = []

    def tell(check: Check) -> None:
        found.append(check)
        if not as_json:
            _print(check)

    try:
        settings = load(DoctorSettings, bootstrap_servers=bootstrap_servers, data_dir=data_dir)
    except ConfigurationError as error:
        for check in (*version_checks(), bundled_check()):
            tell(check)
        tell(fail("settings", str(error), "Correct the variables first; nothing else can be checked before."))
    else:
        asyncio.run(_examined(settings, timeout, tell))
    counted = Counter(check.status for check in found)
    if as_json:
        echo_json({"healthy": not counted[CheckStatus.FAIL], "checks": [c._asdict() for c in found]})
    else:
        echo(", ".join(f"{counted[status]} {status}" for status in CheckStatus))
    if counted[CheckStatus.FAIL]:
        raise click.exceptions.Exit(PROBLEM_FOUND)


async def _examined(settings: DoctorSettings, within: float, tell: Callable[[Check], None]) -> None:
    async for check in examine(settings, os.environ, within):
        tell(check)


def _print(check: Check) -> None:
    status = TextSpan(f"{check.status:<4}", _COLOURS[check.status])
    said = TextSpan(f"  {check.name:<18}  {printable(check.said, _LONGEST)}")
    echo(Line.of(status, said, hang=_SAID_AT))
    if check.advice:
        echo(Line.of(TextSpan(f"{'':<{_SAID_AT}}→ {printable(check.advice, _LONGEST)}")))

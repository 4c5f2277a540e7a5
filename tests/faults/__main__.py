"""`make test-faults`: faults on three nodes of Apache Kafka, and whether everything came out right."""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import math
import shutil
import signal
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import get_args

from tests.faults.drive import run
from tests.faults.kinds import KINDS
from tests.faults.report import Guarantee, Report

FAULTS_OF_EACH = 10


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make test-faults ARGS=...", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="decides which faults, in which order (1)")
    parser.add_argument("--faults", type=int, help=f"how many ({FAULTS_OF_EACH} of each kind)")
    parser.add_argument(
        "--kinds",
        type=lambda given: [kind.strip() for kind in given.split(",")],
        default=list(KINDS),
        help=f"some of: {', '.join(KINDS)}",
    )
    parser.add_argument("--rate", type=int, default=80, help="records a second (80)")
    parser.add_argument(
        "--overlap", type=float, default=0.0, help="share of faults joined by a second one (0)"
    )
    parser.add_argument(
        "--guarantee",
        choices=get_args(Guarantee),
        default="at_least_once",
        help="of the workers (%(default)s)",
    )
    parser.add_argument(
        "--transactions", action="store_true", help="send the records in transactions, some of them aborted"
    )
    parser.add_argument(
        "--expire",
        action="store_true",
        help="sessions fall silent and are removed by the clock meanwhile, all of them in the end",
    )
    parser.add_argument(
        "--setting",
        type=_setting,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="of the workers, such as standby_replicas=1; may be repeated",
    )
    parser.add_argument("--minutes", type=float, default=math.inf, help="begin no fault after so many")
    parser.add_argument("--json", type=Path, help="a file for the result")
    parser.add_argument("--keep", action="store_true", help="keep the logs of the workers in any case")
    arguments = parser.parse_args()
    if unknown := set(arguments.kinds) - KINDS.keys():
        parser.error(f"no such kind: {', '.join(sorted(unknown))}; there are {', '.join(KINDS)}")
    return arguments


def _setting(given: str) -> tuple[str, str]:
    name, equals, value = given.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"{given} is not NAME=VALUE")
    return name.strip().lower(), value


def _say(line: str) -> None:
    print(line, flush=True)  # noqa: T201 - a program for people


async def _run(arguments: argparse.Namespace, directory: Path) -> Report:
    task = asyncio.current_task()
    assert task is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    return await run(
        directory,
        seed=arguments.seed,
        count=arguments.faults or FAULTS_OF_EACH * len(arguments.kinds),
        kinds=arguments.kinds,
        rate=arguments.rate,
        tell=_say,
        overlap=arguments.overlap,
        guarantee=arguments.guarantee,
        transactions=arguments.transactions,
        minutes=arguments.minutes,
        settings=dict(arguments.setting),
        expire=arguments.expire,
    )


def main() -> int:
    """Run a plan; 0 when nothing is lost and nothing wrong."""
    arguments = _arguments()
    directory = Path(tempfile.mkdtemp(prefix="eddy-faults-"))
    # What the clients say about brokers that are down is expected, and much.
    logging.basicConfig(filename=directory / "clients.log")
    right = False
    try:
        report = asyncio.run(_run(arguments, directory))
        _say(report.table())
        if arguments.json is not None:
            arguments.json.write_text(json.dumps(report.document(), indent=1))
        right = not report.problems
    finally:
        if right and not arguments.keep:
            shutil.rmtree(directory)
        else:
            with suppress(FileNotFoundError):
                shutil.rmtree(directory / "brokers")
            _say(f"The logs of the workers are kept in {directory / 'workers'}.")
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())

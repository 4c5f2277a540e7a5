"""`python -m benchmarks`: measure, print, write down."""

from __future__ import annotations

import asyncio
import json
import shlex
import sys
import time
from pathlib import Path

import click

from benchmarks.contender import Contender
from benchmarks.plan import PARTS, Plan
from benchmarks.report import RESULTS, as_json, as_markdown, merged, update_document
from benchmarks.session import measure

_ROOT = Path(__file__).parents[1]
_DOCUMENT = _ROOT / "docs" / "measurements" / "benchmarks.md"


@click.command()
@click.option("--quick", is_flag=True, help="A smoke run under a minute: says that it works, not how fast.")
@click.option("--only", type=click.Choice(PARTS), multiple=True, help="Measure this part alone; repeatable.")
@click.option(
    "--contender",
    type=click.Choice([str(name) for name in Contender]),
    multiple=True,
    help="This one; repeatable.",
)
@click.option("--workload", multiple=True, metavar="BYTES:SESSIONS[:json]", help="This one; repeatable.")
@click.option("--records", type=click.IntRange(100), help="Measured records of each backlog.")
@click.option("--sessions", type=click.IntRange(100), help="Restored by the part recovery: 100,000.")
@click.option("--repeats", type=click.IntRange(1), help="Of each engine; the lowest counts.")
@click.option("--broker", type=click.Choice(["kafka", "embedded"]), help="Default: Apache Kafka.")
@click.option(
    "--trajectories",
    type=click.Path(exists=True, path_type=Path),
    help="A file or folder of *.events.jsonl.gz: judge these sessions too.",
)
@click.option(
    "--write/--no-write",
    default=None,
    help="Update benchmarks/results.json and docs/measurements/benchmarks.md; default: on a full run.",
)
def main(
    *,
    quick: bool,
    only: tuple[str, ...],
    contender: tuple[str, ...],
    workload: tuple[str, ...],
    records: int | None,
    sessions: int | None,
    repeats: int | None,
    broker: str | None,
    trajectories: Path | None,
    write: bool | None,
) -> None:
    """Measure what Eddy costs beside plain aiokafka, Quix Streams and naive Faust.

    Everything is measured on one broker in one run. Before anything is timed, what every contender writes is
    compared with what the pipeline gives in one process, byte by byte.
    """
    plan = Plan.of(
        quick=quick,
        parts=only,
        contenders=contender,
        workloads=workload,
        records=records,
        sessions=sessions,
        repeats=repeats,
        broker=broker,
        trajectories=trajectories,
    )
    started = time.monotonic()

    def say(line: str) -> None:
        click.echo(f"{time.monotonic() - started:4.0f} s  {line}", err=True)

    results = asyncio.run(measure(plan, say=say))
    results["command"] = shlex.join(["python", "-m", "benchmarks", *sys.argv[1:]])
    texts = as_markdown(results)
    click.echo("\n".join(texts.values()))
    if plan.complete if write is None else write:
        kept = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
        RESULTS.write_text(as_json(merged(kept, results)))
        update_document(_DOCUMENT, texts)


if __name__ == "__main__":
    main()

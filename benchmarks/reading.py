"""What it costs to read logs of other programs: `python -m benchmarks.reading`, Markdown on standard output.

Each sample is multiplied into a folder of sessions. CPU time of this process, the best of several runs.
"""

from __future__ import annotations

import gc
import io
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import click
import orjson

from streams.cli.text.line import Line
from streams.cli.text.overview import Overview
from streams.core.detectors.settings import DEFAULTS
from streams.core.offline import judge
from streams.formats.adapters.adapter import UnitKind
from streams.formats.intake import Intake
from streams.formats.reading import entries
from streams.formats.registry import BY_NAME

SESSIONS_A_FILE: Final = 20
"""Samples are short: so many of them make the length of a usual log."""
SAMPLES: Final = Path(__file__).parents[1] / "tests" / "samples"


def samples() -> Iterator[tuple[str, Path, list[dict[str, str]]]]:
    """Yield each format of lines with its sample and the records that come of it."""
    for folder in sorted(SAMPLES.iterdir()):
        found = BY_NAME.get(folder.name.replace("_", "-"))
        if found is None or found.own or found.kind is not UnitKind.LINES:
            continue
        for rows in sorted(folder.glob("*.expected.jsonl")):
            records = [orjson.loads(line) for line in rows.read_bytes().splitlines()]
            inputs = [path for path in folder.glob(f"{rows.name.split('.')[0]}.*") if path != rows]
            if len({record["session_id"] for record in records}) == 1:
                yield found.name, inputs[0], records


def multiply(folder: Path, source: Path, records: list[dict[str, str]], wanted: int) -> None:
    """Write files of sessions that differ from a sample in their ids, until there are as many records."""
    text = source.read_bytes()
    ids = {records[0]["session_id"], *(record["event_id"] for record in records)}
    for number in range(-(-wanted // len(records))):
        copy = text.replace(b'"uuid":"', f'"uuid":"{number}-'.encode())
        for each in ids:
            copy = copy.replace(each.encode(), f"{each}-{number}".encode())
        with (folder / f"{number // SESSIONS_A_FILE:06}-{source.name}").open("ab") as file:
            file.write(copy.rstrip(b"\n") + b"\n")


def cpu(work: Callable[[], object], times: int) -> float:
    """Return the least CPU seconds that some work took."""
    least = float("inf")
    for _ in range(times):
        gc.collect()
        begun = time.process_time()
        work()
        least = min(least, time.process_time() - begun)
    return least


def _each(found: Iterator[object]) -> int:
    return sum(1 for _ in found)


def _decode(folder: Path) -> None:
    for path in folder.iterdir():
        with path.open("rb") as stream:
            for line in stream:
                json.loads(line)


def _detect(folder: Path) -> None:
    shown = io.StringIO()

    def write(line: Line) -> None:
        shown.write(line.text)

    intake = Intake()
    view = Overview(write, intake, (str(folder),), only_loops=False)
    for judgement in judge(entries([str(folder)], intake=intake), DEFAULTS):
        view.add(judgement)
    view.finish()


@click.command()
@click.option("--records", default=60_000, show_default=True, help="Records of `eddy detect`.")
@click.option("--times", default=3, show_default=True, help="Runs, of which the best counts.")
def main(records: int, times: int) -> None:
    """Measure reading per format, and `eddy detect` beside judging alone."""
    click.echo("| format | µs a record | µs a record, json.loads of the same bytes | bytes a record |")
    click.echo("|---|---|---|---|")
    for name, source, expected in samples():
        with TemporaryDirectory() as place:
            folder = Path(place)
            multiply(folder, source, expected, max(1, records // 20))
            count = _each(entries([place]))
            size = sum(path.stat().st_size for path in folder.iterdir())
            reading = cpu(lambda: _each(entries([place])), times) / count * 1e6
            decoding = cpu(lambda: _decode(folder), times) / count * 1e6  # noqa: B023
            click.echo(f"| {name} | {reading:.1f} | {decoding:.1f} | {size / count:,.0f} |")
    name, source, expected = next(each for each in samples() if each[0] == "claude-code")
    with TemporaryDirectory() as place:
        multiply(Path(place), source, expected, records)
        held = list(entries([place]))
        judging = cpu(lambda: _each(judge(held, DEFAULTS)), times)
        count = len(held)
        held.clear()
        whole = cpu(lambda: _detect(Path(place)), times)
        click.echo(
            f"\n`eddy detect` on {count:,} records of {name}: {whole:.2f} s of CPU; judging alone "
            f"{judging:.2f} s; {whole / judging:.2f} times."
        )


if __name__ == "__main__":
    main()

"""What is read once and what is followed: the same records, and the same problems, of the same bytes."""

import gzip
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import cramjam
import orjson
import pytest

from streams.core.detectors.settings import DEFAULTS
from streams.core.domain.outcome import Rejected
from streams.core.offline import judge
from streams.formats.adapters.adapter import Format
from streams.formats.adapters.mapped import mapped_format
from streams.formats.format_detection import FormatDetection
from streams.formats.intake import Intake
from streams.formats.reading import entries
from tests.unit.formats.ingest.following import LOG, SAMPLES, World

RECORDINGS = Path(__file__).parents[3] / "streams" / "formats" / "recordings"
FILES = [path for path in sorted(SAMPLES.glob("*/*")) if path.is_file()] + sorted(RECORDINGS.glob("*.jsonl"))
LINES = LOG.read_bytes().splitlines(keepends=True)
EVENTS = (SAMPLES / "openhands" / "loop.jsonl").read_bytes().splitlines()
OWN = LOG.with_name("loop.expected.jsonl").read_bytes()
CSV = b'run,tool,output\nr1,search,"first\n   second"\nr1,search,none'
MAPPED = mapped_format(b'session_id = "run"\ntool = "tool"\nresult = "output"\n')


class Said(NamedTuple):
    """What was read of inputs."""

    records: list[Any]
    problems: Counter[str]
    formats: set[str]
    ignored: Counter[str]


def read_once(*paths: Path, mapped: Format | None = None) -> Said:
    """Read as `eddy detect` does. A record that the job would reject is a problem, as its dead letter is."""
    intake = Intake()
    records = []
    problems: Counter[str] = Counter()
    found = list(entries([str(path) for path in paths], FormatDetection(mapped=mapped), intake))
    # Whoever sends a record gives it the time of the message anew.
    sent = [entry._replace(timestamp=None) for entry in found]
    for entry, judged in zip(sent, judge(sent, DEFAULTS), strict=True):
        if not isinstance(judged.outcome, Rejected):
            records.append(entry.value)
        else:
            problems["unreadable" if entry.value is None else "unknown_shape"] += 1
    for share in (*intake.shares.values(), intake.damaged):
        problems.update({reason: trouble.count for reason, trouble in share.troubles.items()})
    ignored = sum((share.ignored for share in intake.shares.values()), Counter[str]())
    return Said(records, problems, set(intake.shares), ignored)


async def read_on(world: World, *paths: Path, mapped: Format | None = None) -> Said:
    """Read as `eddy ingest` does."""
    world.mapped = mapped
    records = await world.once(*paths)
    sources = world.account.sources.values()
    problems = sum((each.all_problems for each in sources), Counter[str]())
    problems.update(
        Counter({"unreadable": len(world.account.unreadable)}) if world.account.unreadable else {}
    )
    ignored = sum((kinds for each in sources for kinds in each.ignored.values()), Counter[str]())
    return Said(
        records, problems, {name for name, each in world.account.sources.items() if each.paths}, ignored
    )


def held(path: Path) -> bytes:
    return path.read_bytes()


def written(folder: Path, name: str, data: bytes) -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data)


@pytest.fixture
def world(tmp_path: Path) -> World:
    (folder := tmp_path / "logs").mkdir()
    return World(folder)


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.name}")
async def test_a_file_says_the_same_once_and_followed(world: World, path: Path) -> None:
    once = read_once(path)
    assert once.records
    assert await read_on(world, path) == once


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.name}")
async def test_a_file_says_the_same_if_it_comes_in_two_halves(world: World, path: Path) -> None:
    log, data = world.folder / path.name, held(path)
    written(world.folder, log.name, data[: len(data) // 2])
    await world.follow(lambda: written(world.folder, log.name, data), paths=[log])
    await world.once(log)
    found = sorted(map(orjson.dumps, world.sink.records))
    assert found == sorted(map(orjson.dumps, read_once(log).records))


def conversation(folder: Path, last: bytes) -> None:
    for number, line in enumerate([*EVENTS[:-1], last]):
        written(folder, f"conversation/events/event-{number:05}-x.json", line)


def damaged_archive(folder: Path) -> None:
    data = b"".join(LINES)
    calls = {each["event_id"].encode() for each in map(orjson.loads, OWN.splitlines())}
    for number in range(40):
        copy = b"".join(LINES).replace(b'"uuid":"', b'"uuid":"%d-' % number)
        for call in calls:
            copy = copy.replace(call, call + b"-%d" % number)
        data += copy
    written(folder, "a.jsonl.gz", gzip.compress(data)[:-9])


def whatever_is_in_a_home(folder: Path) -> None:
    written(folder, ".claude/projects/-app/a.jsonl", LOG.read_bytes())
    written(folder, ".cache/a.jsonl", LOG.read_bytes().replace(b'"uuid":"', b'"uuid":"2-'))
    written(folder, "deep/.hidden.jsonl", LOG.read_bytes())
    written(folder, "notes.txt", b"once upon a time")


CASES: dict[str, Callable[[Path], object]] = {
    "a last line that is cut": lambda folder: written(folder, "a.jsonl", b"".join(LINES)[:-9]),
    "a last line without its end": lambda folder: written(folder, "a.jsonl", b"".join(LINES).rstrip()),
    "a broken line": lambda folder: written(folder, "a.jsonl", b"".join([*LINES[:3], b"{\n", *LINES[3:]])),
    "lines of Windows after a mark": lambda folder: written(
        folder, "a.jsonl", b"\xef\xbb\xbf" + b"".join(LINES).replace(b"\n", b"\r\n")
    ),
    "UTF-16": lambda folder: written(folder, "a.jsonl", b"".join(LINES).decode().encode("utf-16")),
    "zstd": lambda folder: written(folder, "a.jsonl.zst", bytes(cramjam.zstd.compress(b"".join(LINES)))),
    "an archive that is cut": damaged_archive,
    "decision logs, one broken and one cut": lambda folder: written(folder, "a", OWN + b"[]\n" + OWN[:50]),
    "decision logs of another shape": lambda folder: written(
        folder, "a.jsonl", OWN + b'{"session_id":"s","event_id":"e","action":{}}\n'
    ),
    "a document that is cut": lambda folder: written(
        folder, "a.json", (SAMPLES / "atif" / "claude-loop.json").read_bytes()[:-200]
    ),
    "requests, the last one cut": lambda folder: written(
        folder, "a.otlp", (SAMPLES / "otlp_proto" / "pai-5.otlp").read_bytes()[:-10]
    ),
    "parts of one conversation": lambda folder: conversation(folder, EVENTS[-1]),
    "parts, the last one cut": lambda folder: conversation(folder, EVENTS[-1][:20]),
    "parts of nothing": lambda folder: written(folder, "x/events/event-1.json", LOG.read_bytes()),
    "a home": whatever_is_in_a_home,
}


@pytest.mark.parametrize("case", CASES)
async def test_what_is_odd_says_the_same_once_and_followed(world: World, case: str) -> None:
    CASES[case](world.folder)
    once = read_once(world.folder)
    assert once.records or once.problems
    assert await read_on(world, world.folder) == once


async def test_a_part_that_is_named_stands_for_its_conversation(world: World) -> None:
    conversation(world.folder, EVENTS[-1])
    part = world.folder / "conversation" / "events" / "event-00003-x.json"
    once = read_once(part)
    assert once == read_once(world.folder)
    assert await read_on(world, part) == once


async def test_rows_of_a_table_say_the_same_with_blanks_within_quotes_and_without_a_last_end(
    world: World,
) -> None:
    written(world.folder, "a.csv", CSV)
    once = read_once(world.folder, mapped=MAPPED)
    assert [each["action"]["tool_output_summary"] for each in once.records] == ["first\n   second", "none"]
    assert await read_on(world, world.folder, mapped=MAPPED) == once


async def test_messages_are_read_up_to_one_that_is_none(world: World) -> None:
    log = world.folder / "a.jsonl"
    shutil.copy(RECORDINGS / "broken.jsonl", log)
    log.write_bytes(log.read_bytes() + b'{"key": 7}\n{"value": {}}\n')
    problems = read_once(RECORDINGS / "broken.jsonl").problems
    said = await read_on(world, log)
    assert said.records == read_once(RECORDINGS / "broken.jsonl").records
    assert said.problems == problems + Counter(unreadable=1)
    assert await read_on(world, log) == said._replace(records=[])

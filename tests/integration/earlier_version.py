"""An earlier version, as it was released: its real code, out of the history of this repository.

It runs with what this version depends on: all pin the same Faust, aiokafka and rocksdict.
"""

from __future__ import annotations

import asyncio
import io
import re
import subprocess
import sys
import tarfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import orjson
import pytest

from schemas.bundled import by_id
from streams.core.domain.record import Outgoing
from streams.core.domain.topic import Topic
from streams.kafka.client import Stored
from tests.archives import unpack
from tests.integration.stage import Stage
from tests.integration.worker_process import WorkerProcess
from tests.pages import ROOT

#: The last commit of version 0.1.0.
FIRST = "9ad3f49ad15b53e99497efb1f3cd04f5fd507895"

_FIRST_IMPORTS = """
from streams.domain.detection_settings import DEFAULTS
from streams.domain.run import Run
from streams.domain.settings_document import resolve
from streams.engine.changelog import encode_session
from streams.engine.client import Stored
from streams.job import Folded, Job, key_text
"""

# Since version 0.2.
_IMPORTS = """
from streams.core.detectors.settings import DEFAULTS
from streams.core.domain.run import Run
from streams.core.settings_document import resolve
from streams.kafka.client import Stored
from streams.worker.batch import Job, key_text
from streams.worker.run_result import RunResult as Folded
from streams.worker.state.changelog import encode_session
"""

# Folds records one by one with the code of that version; it reads and writes a line of JSON for each.
_FOLD = """
import sys
from importlib.metadata import version
import orjson
from schemas.codec import Codec
{imports}
class Sessions(dict):
    def put(self, session, session_id):
        self[session_id] = session

def raw(text):
    return None if text is None else bytes.fromhex(text)

def text(value):
    return None if value is None else value.hex()

group, history = orjson.loads(sys.stdin.readline())
job, sessions = Job(Codec.bundled(), group=group, version=version("eddy-streams")), {{}}
for line in sys.stdin:
    partition, offset, timestamp, key, value, headers = orjson.loads(line)
    headers = tuple((name, raw(content)) for name, content in headers)
    message = Stored(partition, offset, timestamp, raw(key), raw(value), headers)
    settings = DEFAULTS
    for first_offset, number, document in history.get(str(partition), ()):
        if first_offset <= offset:
            settings = resolve(document, DEFAULTS, number)[0]
    of_partition = sessions.setdefault(partition, Sessions())
    folded = Folded()
    job.fold(Run("decision-logs", partition, [message]), of_partition, settings, folded)
    state = of_partition.get(key_text(message.key))
    outputs = [
        [topic, text(out.key), text(out.value), out.timestamp, [[name, text(of)] for name, of in out.headers]]
        for topic, written in folded.outputs.items()
        for out in written
    ]
    sys.stdout.buffer.write(
        orjson.dumps([outputs, None if state is None else encode_session(state).hex()]) + b"\\n"
    )
"""

# Runs a command of that version, and notes what brokers acknowledge: topic, partition, offset, how many.
_WITNESSED = """
import runpy, sys
from aiokafka import AIOKafkaProducer

notes, queue = open(sys.argv.pop(1), "a", buffering=1), AIOKafkaProducer.send_batch

async def noted(producer, batch, topic, *, partition):
    def note(done):
        if not done.cancelled() and done.exception() is None:
            print(topic, partition, done.result().offset, batch.record_count(), file=notes)

    future = await queue(producer, batch, topic, partition=partition)
    future.add_done_callback(note)
    return future

AIOKafkaProducer.send_batch = noted
runpy.run_module("streams", run_name="__main__", alter_sys=True)
"""


class Folded(NamedTuple):
    """What a record led to: outputs by topic, parts of aggregates, the bytes of its session's new state."""

    outputs: Sequence[tuple[str, Stored]]
    contributions: Sequence[Outgoing]
    state: bytes | None


class EarlierVersion:
    """The code of a version in a directory.

    Args:
        directory: An empty one that exists.
        version: What it is called.
        commit: Where its code is in the history.
    """

    def __init__(self, directory: Path, version: str, commit: str) -> None:
        archive = _git("archive", commit, "schemas", "streams", "topics")
        if archive is None:
            # A shallow clone, or a source distribution.
            pytest.skip(
                f"the code of version {version} is not here: commit {commit} is missing from the history. "
                "In a shallow clone, run `git fetch --unshallow`."
            )
        with tarfile.open(fileobj=io.BytesIO(archive)) as files:
            unpack(files, directory)
        self.directory = directory
        self.commit = commit
        self._notes = directory / "acknowledged"
        self._noted: set[tuple[int, int]] = set()

    def has_written(self, enriched: Stored) -> bool:
        """Tell whether a worker of that version wrote a record of `decision-logs-enriched`.

        The first version has a schema of its own; workers of others are watched. Ask when all have ended.
        """
        if self.commit == FIRST:
            assert enriched.value is not None
            return by_id()[int.from_bytes(enriched.value[1:5], "big")].version == 1
        if not self._noted:
            for line in self._notes.read_text().splitlines():
                topic, *numbers = line.split()
                partition, first, count = map(int, numbers)
                if topic == Topic.ENRICHED:
                    self._noted |= {(partition, first + index) for index in range(count)}
        return (enriched.partition, enriched.offset) in self._noted

    def worker(self, stage: Stage, directory: Path, name: str, **settings: object) -> WorkerProcess:
        """Start a worker of that version on a stage, with its data in a directory."""
        own = self.directory / name
        own.mkdir()
        command = [sys.executable, "-c", _WITNESSED, str(self._notes), "worker"]
        worker = WorkerProcess(
            command, own, self._environment(stage.environment(data_dir=directory, **settings))
        )
        stage.workers.append(worker)
        return worker

    async def command(self, stage: Stage, *words: str) -> str:
        """Run a command of that version to its end and return what it printed; it has to succeed."""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "streams", *words),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            cwd=self.directory,
            env=self._environment(stage.environment()),
        )
        printed, complained = await process.communicate()
        assert process.returncode == 0, complained.decode()
        return printed.decode()

    async def fold(
        self, records: Sequence[Stored], group: str, history: Mapping[int, Sequence[tuple[int, int, Any]]]
    ) -> list[Folded]:
        """Return what each record leads to in that version, if it has processed all before it.

        Args:
            records: Each partition in the order of its offsets.
            group: The application id.
            history: By partition the settings: first offset, version and document, oldest first.
        """
        imports = _FIRST_IMPORTS if self.commit == FIRST else _IMPORTS
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", _FOLD.format(imports=imports)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            cwd=self.directory,
            env=self._environment(Stage.inherited()),
        )
        lines = [orjson.dumps([group, {str(number): each for number, each in history.items()}])]
        lines += [
            orjson.dumps(
                [
                    each.partition,
                    each.offset,
                    each.timestamp,
                    _hex(each.key),
                    _hex(each.value),
                    _headers(each),
                ]
            )
            for each in records
        ]
        printed, _ = await process.communicate(b"\n".join(lines) + b"\n")
        assert process.returncode == 0
        return [
            _folded(record.partition, line)
            for record, line in zip(records, printed.splitlines(), strict=True)
        ]

    def _environment(self, environment: Mapping[str, str]) -> dict[str, str]:
        return {**environment, "PYTHONPATH": str(self.directory)}


def first_version(directory: Path) -> EarlierVersion:
    """Return version 0.1.0 in an empty directory."""
    return EarlierVersion(directory, "0.1.0", FIRST)


def last_release(directory: Path) -> EarlierVersion:
    """Return the newest release before the commit that is checked out, in an empty directory.

    It is the commit that gave the version its heading in the changelog, as the one that has the tag.
    """
    if _git("rev-parse", "--is-shallow-repository") != b"false\n":
        pytest.skip("the history does not say where the newest release is: no git, or a shallow clone")
    text = (ROOT / "CHANGELOG.md").read_text()
    head = _git("rev-parse", "HEAD")
    for version in re.findall(r"^## \[(\d[\d.]*)\]", text, re.MULTILINE):
        found = _git("log", "--format=%H", f"-S## [{version}]", "--", "CHANGELOG.md")
        if not found:
            continue  # it has its heading since a moment ago
        commit = found.split()[-1]
        if head and commit != head.strip():
            return EarlierVersion(directory, version, commit.decode())
    raise AssertionError("the changelog names no version before this commit")


def _git(*words: str) -> bytes | None:
    """Return what git prints, or nothing where it cannot."""
    done = subprocess.run(
        ["git", "-C", str(ROOT), *words], stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    return done.stdout if done.returncode == 0 else None


def _folded(partition: int, line: bytes) -> Folded:
    written, state = orjson.loads(line)
    outputs: list[tuple[str, Stored]] = []
    contributions = []
    for topic, key, value, timestamp, pairs in written:
        key_bytes, value_bytes = _bytes(key), _bytes(value)
        if topic == Topic.REPARTITION:
            contributions.append(Outgoing(key_bytes, value_bytes, timestamp))
        else:
            headers = tuple((name, _bytes(text) or b"") for name, text in pairs)
            outputs.append((topic, Stored(partition, -1, timestamp, key_bytes, value_bytes, headers)))
    return Folded(outputs, contributions, _bytes(state))


def _headers(stored: Stored) -> Iterable[Sequence[str | None]]:
    return [(name, _hex(content)) for name, content in stored.headers]


def _hex(value: bytes | None) -> str | None:
    return None if value is None else value.hex()


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else bytes.fromhex(text)

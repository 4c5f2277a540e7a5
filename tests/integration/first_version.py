"""Version 0.1, as it was published: its real code, out of the history of this repository.

It runs with what this version depends on: both pin the same Faust, aiokafka and rocksdict.
"""

from __future__ import annotations

import asyncio
import io
import subprocess
import sys
import tarfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import orjson
import pytest

from streams.kafka.client import Stored
from tests.archives import unpack
from tests.integration.stage import Stage
from tests.integration.worker_process import WorkerProcess

#: The last commit of version 0.1.0.
COMMIT = "9ad3f49ad15b53e99497efb1f3cd04f5fd507895"

_ROOT = Path(__file__).parents[2]

# Folds records one by one with the code of that version; it reads and writes a line of JSON for each.
_FOLD = """
import sys
from importlib.metadata import version
import orjson
from schemas.codec import Codec
from streams.domain.detection_settings import DEFAULTS
from streams.domain.run import Run
from streams.domain.settings_document import resolve
from streams.engine.changelog import encode_session
from streams.engine.client import Stored
from streams.job import Folded, Job, key_text

class Sessions(dict):
    def put(self, session, session_id):
        self[session_id] = session

def raw(text):
    return None if text is None else bytes.fromhex(text)

def text(value):
    return None if value is None else value.hex()

group, history = orjson.loads(sys.stdin.readline())
job, sessions = Job(Codec.bundled(), group=group, version=version("eddy-streams")), {}
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


class Folded(NamedTuple):
    """What a record led to: its outputs by topic, and the bytes of its session's state afterwards."""

    outputs: Sequence[tuple[str, Stored]]
    state: bytes | None


class FirstVersion:
    """The code of version 0.1 in a directory.

    Args:
        directory: An empty one that exists.
    """

    def __init__(self, directory: Path) -> None:
        archive = subprocess.run(
            ["git", "-C", str(_ROOT), "archive", COMMIT, "schemas", "streams", "topics"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
        if archive.returncode != 0:
            # A shallow clone, or a source distribution.
            pytest.skip(
                f"the code of version 0.1 is not here: commit {COMMIT} is missing from the history. In a "
                "shallow clone, run `git fetch --unshallow`."
            )
        with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as files:
            unpack(files, directory)
        self.directory = directory

    def worker(self, stage: Stage, directory: Path, name: str, **settings: object) -> WorkerProcess:
        """Start a worker of that version on a stage, with its data in a directory."""
        own = self.directory / name
        own.mkdir()
        command = [sys.executable, "-m", "streams", "worker"]
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
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", _FOLD),
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


def _folded(partition: int, line: bytes) -> Folded:
    outputs, state = orjson.loads(line)
    return Folded(
        [
            (
                topic,
                Stored(
                    partition,
                    -1,
                    timestamp,
                    _bytes(key),
                    _bytes(value),
                    tuple((name, _bytes(content) or b"") for name, content in headers),
                ),
            )
            for topic, key, value, timestamp, headers in outputs
        ],
        _bytes(state),
    )


def _headers(stored: Stored) -> Iterable[Sequence[str | None]]:
    return [(name, _hex(content)) for name, content in stored.headers]


def _hex(value: bytes | None) -> str | None:
    return None if value is None else value.hex()


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else bytes.fromhex(text)

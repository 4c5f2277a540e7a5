"""What an earlier version left behind: its changelog, and the messages it had read and those still to come.

`tests/changelogs/README.md` says what the files hold.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import orjson

from schemas.codec import Codec, OutputFormat
from streams.core.detectors.settings import DetectionSettings
from streams.core.domain.run import Run
from streams.core.domain.session import Session
from streams.core.domain.topic import Topic
from streams.formats.recordings.catalogue import RECORDINGS, messages
from streams.kafka.client import Stored
from streams.worker.batch import Job
from streams.worker.run_result import RunResult
from streams.worker.settings_ledger import SettingsLedger
from streams.worker.state.changelog import SETTINGS_KEY, decode_session

CHANGELOGS = Path(__file__).parent / "changelogs"
SCORES_ONLY, EVERY_DETECTOR = CHANGELOGS / "scores_only.jsonl", CHANGELOGS / "every_detector.jsonl"

# The recordings there were: others would move the offsets.
SEEN = (
    "healthy_bugfix",
    "healthy_feature",
    "healthy_refactor",
    "healthy_upgrade",
    "healthy_research",
    "healthy_analysis",
    "edit_test_loop",
    "read_loop",
    "flip_flop",
    "same_call",
    "paraphrased_loop",
    "polling",
    "rate_limit_retry",
    "broken",
)

_JOB = Job(Codec.bundled(OutputFormat.JSON), group="g", version="1")


class Sessions(dict[str, Session]):
    """Sessions as the job wants them."""

    def put(self, session: Session, session_id: str) -> None:
        """Set the session's state."""
        self[session_id] = session


class Entry(NamedTuple):
    """A record of the changelog."""

    key: bytes
    value: bytes


def changelog(path: Path = SCORES_ONLY) -> list[Entry]:
    """Return the records of a changelog."""
    lines = map(orjson.loads, path.read_bytes().splitlines())
    return [Entry(line["key"].encode(), line["value"].encode()) for line in lines]


def recorded() -> list[Stored]:
    """Return the messages of the recordings as records of partition 0."""
    replayed = messages([recording for recording in RECORDINGS if recording.name in SEEN])
    return [
        Stored(0, offset, message.timestamp or -1, message.key, message.value, ())
        for offset, message in enumerate(replayed)
    ]


RECORDED = recorded()
CUT = len(RECORDED) * 60 // 100
"""That version had read the records before this offset."""
[LEDGER] = [SettingsLedger.decode(entry.value) for entry in changelog() if entry.key == SETTINGS_KEY]


def restored(path: Path = SCORES_ONLY) -> Sessions:
    """Return the sessions of a changelog."""
    sessions = [entry for entry in changelog(path) if entry.key != SETTINGS_KEY]
    return Sessions({entry.key.decode()[1:]: decode_session(entry.value) for entry in sessions})


def fold(
    sessions: Sessions, records: list[Stored], settings: DetectionSettings = LEDGER.newest.settings
) -> dict[int, dict[str, Any]]:
    """Process records, by default under the settings of the ledger; return the enriched ones by offset."""
    enriched = {}
    for record in records:
        folded = RunResult()
        _JOB.fold(Run(Topic.DECISION_LOGS, 0, [record]), sessions, settings, folded)
        for out in folded.outputs.get(Topic.ENRICHED, ()):
            enriched[record.offset] = orjson.loads(out.value or b"")
    return enriched

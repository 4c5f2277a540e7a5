"""Workers that write less than they read, and one whose redactor takes texts out before that."""

from __future__ import annotations

from pathlib import Path

import pytest

from streams.core.domain.topic import Topic
from streams.worker.options import changelog_topic
from tests.integration.load import keyed
from tests.integration.reference_fold import value_of
from tests.integration.stage import Stage
from tests.integration.worker_process import PATIENCE_SECONDS, until
from tests.unit.worker.test_content import RECORDS, SECRET

pytestmark = pytest.mark.integration

_REDACTOR = """
def mask(text):
    if "step of nobody" in text:
        raise KeyError(text)
    return text.replace("kim@example.org", "<EMAIL>")
"""


async def everything(stage: Stage) -> bytes:
    """Return all bytes of the topics that a worker writes, dead letters aside."""
    topics = (
        Topic.ENRICHED,
        Topic.ENTROPY_ALERTS,
        Topic.SESSION_ALERTS,
        changelog_topic(stage.application_id),
    )
    stored = [each for topic in topics for each in await stage.read(topic)]
    return b"".join(each.value or b"" for each in stored)


async def test_a_worker_writes_hashes_and_judges_texts(stage: Stage) -> None:
    await stage.worker(content="hash").ready()
    await stage.send(keyed(value, stage.partitions) for value in RECORDS)
    await stage.processed()
    enriched = [value_of(each) for each in await stage.read(Topic.ENRICHED)]
    assert {each["cognition"]["intent"][:2] for each in enriched} == {"h:"}
    alerts = [
        each for topic in (Topic.ENTROPY_ALERTS, Topic.SESSION_ALERTS) for each in await stage.read(topic)
    ]
    assert alerts
    assert SECRET.encode() not in b"".join(each.value or b"" for each in alerts)


async def test_a_redactor_of_the_team_comes_before_state_and_outputs_and_its_failure_is_told(
    stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "team_redactor.py").write_text(_REDACTOR)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    worker = stage.worker(redactor="team_redactor:mask", checkpoint_s=0)
    await worker.ready()
    await stage.send(keyed(value, stage.partitions) for value in RECORDS)
    failing = {**RECORDS[0], "session_id": "s-fails", "cognition": {"intent": f"step of nobody, {SECRET}"}}
    await stage.send([keyed(failing, stage.partitions)])
    await stage.processed()
    written = await everything(stage)
    assert b"<EMAIL>" in written
    assert SECRET.encode() not in written
    assert await worker.metric("eddy_redaction_failures_total") == 1

    def is_said() -> bool:
        return "EDDY_REDACTOR failed (KeyError) over a record of decision-logs[" in worker.log

    await until(is_said, PATIENCE_SECONDS, "the line about it", worker)
    assert SECRET not in worker.log


async def test_a_worker_that_cannot_import_its_redactor_does_not_start(stage: Stage) -> None:
    worker = stage.worker(redactor="no_such_module:mask")
    assert await worker.ended() == 2
    assert "EDDY_REDACTOR names no_such_module:mask, and it cannot be imported" in worker.log

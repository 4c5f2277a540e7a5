"""The suite of faults in its short form: one of each kind, on three nodes of Apache Kafka."""

from pathlib import Path

import pytest

from tests.faults.drive import run
from tests.faults.kinds import KINDS

pytestmark = [
    pytest.mark.integration,
    pytest.mark.kafka_only("leaders move between brokers, and brokers come back with their data"),
]


@pytest.mark.timeout(900)
async def test_one_fault_of_each_kind_loses_nothing_and_makes_nothing_wrong(tmp_path: Path) -> None:
    report = await run(tmp_path, seed=1, count=len(KINDS), kinds=list(KINDS), rate=40, tell=print)
    assert not report.verdict.problems, report.table()
    assert {outcome.kind for outcome in report.outcomes} == KINDS.keys() - report.skipped.keys()
    ended = {outcome.kind: outcome.ended for outcome in report.outcomes}
    assert ended["worker killed"] == (128 + 9,)
    assert ended["worker terminated"] == (0,)

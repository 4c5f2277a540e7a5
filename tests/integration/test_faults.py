"""The suite of faults in its short form: one of each kind, on three nodes of Apache Kafka."""

from pathlib import Path

import pytest

from streams.worker.health.liveness import EXIT_STALLED
from tests.faults.drive import run
from tests.faults.kinds import KINDS
from tests.faults.report import Guarantee

pytestmark = [
    pytest.mark.integration,
    pytest.mark.kafka_only("leaders move between brokers, and brokers come back with their data"),
]


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("guarantee", "overlap"),
    [
        pytest.param("at_least_once", 0.0, id="at-least-once"),
        pytest.param("exactly_once", 0.4, id="exactly-once-with-faults-that-overlap"),
    ],
)
async def test_one_fault_of_each_kind_loses_nothing_and_makes_nothing_wrong(
    tmp_path: Path, guarantee: Guarantee, overlap: float
) -> None:
    kinds = list(KINDS)
    report = await run(
        tmp_path,
        seed=1,
        count=len(kinds),
        kinds=kinds,
        rate=40,
        tell=print,
        overlap=overlap,
        guarantee=guarantee,
    )
    assert not report.problems, report.table()
    ended = {kind: outcome.ended for outcome in report.outcomes for kind in outcome.kinds}
    assert ended.keys() == KINDS.keys() - report.skipped.keys()
    assert {len(outcome.kinds) for outcome in report.outcomes} == ({1, 2} if overlap else {1})
    assert 128 + 9 in ended["worker killed"]
    assert 0 in ended["worker terminated"]
    stalled = [outcome for outcome in report.outcomes if EXIT_STALLED in outcome.ended]
    assert not stalled, "a worker did not end by itself"


@pytest.mark.timeout(600)
async def test_sessions_that_expire_while_faults_happen_go_when_they_may_and_begin_anew(
    tmp_path: Path,
) -> None:
    kinds = ["worker killed", "worker suspended", "broker killed"]
    report = await run(tmp_path, seed=1, count=len(kinds), kinds=kinds, rate=40, tell=print, expire=True)
    assert not report.problems, report.table()
    assert min(report.verdict.removed[what] for what in ("expired", "ended", "came back")) > 0, report.table()

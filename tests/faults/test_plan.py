"""What a seed decides, and what the table says, without a broker."""

from collections import Counter
from random import Random

import pytest

from tests.faults.kinds import KINDS, corrupt
from tests.faults.plan import plan
from tests.faults.report import Outcome, Report
from tests.integration.reference_fold import Verdict


def choices(seed: int) -> list[tuple[str, dict[str, object]]]:
    return [(fault.kind, vars(fault)) for fault in plan(seed, 50)]


def test_the_same_seed_gives_the_same_faults_and_another_seed_others() -> None:
    assert choices(1) == choices(1) != choices(2)


def test_there_are_about_as_many_of_each_kind() -> None:
    drawn = Counter(fault.kind for fault in plan(1, 10 * len(KINDS) + 1))
    assert sorted(drawn.values()) == [*[10] * (len(KINDS) - 1), 11]


def test_corrupt_records_are_the_same_each_time() -> None:
    assert list(corrupt(Random(3), 4)) == list(corrupt(Random(3), 4)) != list(corrupt(Random(4), 4))


@pytest.mark.parametrize(
    ("problem", "lost", "wrong"),
    [("decision-logs-enriched: lost", 2, 0), ("state is missing", 2, 0), ("state is wrong", 0, 2)],
)
def test_a_report_tells_what_is_lost_from_what_is_wrong(problem: str, lost: int, wrong: int) -> None:
    verdict = Verdict()
    verdict.blame(problem, ["one", "other"])
    report = Report(1, 100, [Outcome(1, "worker killed", "", 1.0, 2.0, 3, 4, (137,))], {}, verdict)
    assert (report.lost, report.wrong) == (lost, wrong)
    assert "| worker killed | 1 | 1.0 s, 1.0 s | 2.0 s, 2.0 s | 1 with 137 | 3 | 4 |" in report.table()
    assert f"{problem}: 2, such as one; other" in report.table()

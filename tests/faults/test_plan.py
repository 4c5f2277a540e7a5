"""What a seed decides, and what the table says, without a broker."""

from collections import Counter
from dataclasses import replace
from random import Random

import pytest

from tests.faults.kinds import KINDS, corrupt
from tests.faults.plan import plan
from tests.faults.report import Circumstances, Guarantee, Outcome, Report
from tests.integration.reference_fold import Verdict

OUTCOME = Outcome(1, ("worker killed",), "", 1.0, 2.0, 3, 4, (137,))


def made(guarantee: Guarantee = "at_least_once") -> Circumstances:
    return Circumstances(
        seed=1,
        guarantee=guarantee,
        rate=80,
        machine="a machine",
        busy=(1.0, 2.0),
        minutes=2.5,
        transactions=False,
        settings={"standby_replicas": "1"},
    )


def test_a_report_tells_whom_the_clock_has_removed() -> None:
    verdict = Verdict(removed=Counter({"expired": 1200, "came back": 7}), removal_delays_ms=[500, 1500, 9000])
    table = Report(replace(made(), expire=True), 100, [OUTCOME], {}, verdict).table()
    assert "sessions that expire, 2.5 minutes" in table
    assert "1,200 silent sessions, 1.5 s, 9.0 s after their time (median, worst), of which 7 came" in table
    assert "0 stubs of ended ones. Of 0 the end was told, and they went on." in table
    assert "Removed" not in Report(made(), 100, [OUTCOME], {}, verdict).table()


def choices(seed: int, overlap: float = 0.0) -> list[list[tuple[str, dict[str, object]]]]:
    return [[(fault.kind, vars(fault)) for fault in step] for step in plan(seed, 50, overlap=overlap)]


def test_the_same_seed_gives_the_same_faults_and_another_seed_others() -> None:
    assert choices(1) == choices(1) != choices(2)


def test_there_are_about_as_many_of_each_kind() -> None:
    drawn = Counter(fault.kind for step in plan(1, 10 * len(KINDS) + 1, overlap=0.5) for fault in step)
    assert sorted(drawn.values()) == [*[10] * (len(KINDS) - 1), 11]


def test_faults_that_overlap_are_decided_by_the_seed_too() -> None:
    assert choices(1, 0.3) == choices(1, 0.3)
    assert {len(step) for step in plan(1, 50)} == {1}
    together = [len(step) for step in plan(1, 400, overlap=0.3)]
    assert sum(together) == 400
    assert 0.2 < together.count(2) / len(together) < 0.35


def test_two_faults_that_overlap_are_of_two_kinds_and_leave_a_quorum() -> None:
    pairs = [step for step in plan(1, 2000, overlap=1.0) if len(step) == 2]
    assert all(first.kind != second.kind for first, second in pairs)
    assert not any(first.takes_a_node and second.takes_a_node for first, second in pairs)
    assert not any(second.kind in {"disk full", "replicas too few"} for _, second in pairs)


def test_corrupt_records_are_the_same_each_time() -> None:
    assert list(corrupt(Random(3), 4)) == list(corrupt(Random(3), 4)) != list(corrupt(Random(4), 4))


@pytest.mark.parametrize(
    ("problem", "lost", "wrong"),
    [("decision-logs-enriched: lost", 2, 0), ("state is missing", 2, 0), ("state is wrong", 0, 2)],
)
def test_a_report_tells_what_is_lost_from_what_is_wrong(problem: str, lost: int, wrong: int) -> None:
    verdict = Verdict()
    verdict.blame(problem, ["one", "other"])
    report = Report(made(), 100, [OUTCOME], {}, verdict)
    assert (report.lost, report.wrong) == (lost, wrong)
    assert "| worker killed | 1 | 1.0 s, 1.0 s | 2.0 s, 2.0 s | 1 with 137 | 3 | 4 |" in report.table()
    assert f"{problem}: 2, such as one; other" in report.table()
    assert "at_least_once, seed 1, standby_replicas=1, 80 records a second, 2.5 minutes, " in report.table()


def test_what_comes_twice_is_wrong_only_where_everything_is_promised_once() -> None:
    verdict = Verdict(repeated=Counter({"topology": 2, "decision-logs-enriched": 0}))
    assert Report(made(), 100, [OUTCOME], {}, verdict).problems == []
    report = Report(made("exactly_once"), 100, [OUTCOME], {}, verdict)
    assert report.problems == ["topology: came twice: 2", "outdated changelog records: 4"]
    assert (report.lost, report.wrong) == (0, 6)


def test_two_faults_at_once_have_a_row_of_their_own() -> None:
    both = Outcome(1, ("worker killed", "broker killed"), "", 1.0, 2.0, 0, 0, ())
    table = Report(made(), 100, [both, OUTCOME], {}, Verdict()).table()
    assert "| two at once | 1 |" in table
    assert "| worker killed | 1 |" in table
    assert "100 records, 3 faults." in table

"""What workers said over time: growth over restarts, and steps for charts."""

from hypothesis import given
from hypothesis import strategies as st

from streams.console.read_model.rows import SampleRow
from streams.console.watch.history import MINUTE_MS, HistoryStep, WorkerHistory

AT = 1_760_000_040_000


def sample(figure: str, minute: int, value: float, worker: str = "w") -> SampleRow:
    return SampleRow(worker, figure, "", AT + minute * MINUTE_MS, value)


def test_a_restart_of_a_worker_counts_from_zero_again() -> None:
    history = WorkerHistory([sample("records", 0, 100), sample("records", 1, 130), sample("records", 2, 20)])
    assert history.growth("records", AT, AT + 2 * MINUTE_MS) == 50


def test_what_was_said_once_has_not_grown_and_is_not_zero() -> None:
    assert WorkerHistory([sample("lost", 0, 3)]).growth("lost", AT - MINUTE_MS, AT + MINUTE_MS) is None


def test_growth_is_of_the_time_that_is_asked_for_and_of_all_workers() -> None:
    rows = [sample("lost", minute, minute, worker) for minute in range(6) for worker in "ab"]
    assert WorkerHistory(rows).growth("lost", AT + 2 * MINUTE_MS, AT + 4 * MINUTE_MS) == 4


@given(st.permutations([sample("records", minute, 10.0 * minute) for minute in range(8)]))
def test_the_order_of_samples_does_not_matter(rows: list[SampleRow]) -> None:
    assert WorkerHistory(rows).growth("records", AT, AT + 7 * MINUTE_MS) == 70


def test_steps_have_rates_and_the_most_that_waited_and_none_where_nothing_is_known() -> None:
    rows = [sample("records", minute, 600.0 * minute) for minute in range(4)]
    rows += [sample("lag", 1, 5), sample("lag", 1, 6, "v"), sample("lag", 2, 3)]
    first = AT // (2 * MINUTE_MS) * (2 * MINUTE_MS)
    found = {step.at: step for step in WorkerHistory(rows).steps(first, AT + 6 * MINUTE_MS, 2 * MINUTE_MS)}
    assert sum(step.rate or 0 for step in found.values()) == 15
    assert max(step.lag or 0 for step in found.values()) == 11
    assert HistoryStep(max(found), None, None) == found[max(found)]

"""docs/scale.md shows what the calculation gives, and the calculation keeps to common sense."""

import json
from dataclasses import replace

import pytest

from benchmarks.scale import RATES, Assumptions, Measured, as_markdown, ceiling, estimate
from benchmarks.sizes import measure
from tests.pages import ROOT

RESULTS = json.loads((ROOT / "benchmarks" / "results.json").read_text())
PAGE = (ROOT / "docs" / "scale.md").read_text()
MEASURED = Measured("a case", 400.0, 100.0, 200.0, 700.0, 2_000.0, 80e6, 5.0)


def test_the_page_shows_what_the_calculation_gives() -> None:
    for text in as_markdown(RESULTS, RATES, Assumptions()).values():
        assert text in PAGE, "run: python -m benchmarks.scale --write"


@pytest.mark.parametrize("characters", [200, 2_000])
def test_an_event_and_a_session_take_as_many_bytes_as_the_page_says(characters: int) -> None:
    (kept,) = [case for case in RESULTS["sizes"]["cases"] if case["result_characters"] == characters]
    found = measure(characters)
    assert found["state_bytes"] == pytest.approx(kept["state_bytes"], rel=0.01)
    assert found["compressed"] == pytest.approx(kept["compressed"], rel=0.01), (
        "run: python -m benchmarks.sizes --write && python -m benchmarks.scale --write"
    )


def test_every_assumption_is_explained_on_the_page() -> None:
    for name in Assumptions.__dataclass_fields__:
        assert f"`--{name.replace('_', '-')}`" in PAGE


def test_a_case_by_hand() -> None:
    found = estimate(10_000, MEASURED, Assumptions(busy=0.5, broker_mb_s=5.0))
    assert found.workers == 8  # 10,000 times 400 µs are four cores, half of eight
    assert found.partitions == 16
    assert found.sessions == pytest.approx(10_000 / 50 * 0.1 * 86_400)
    assert found.state_gb == pytest.approx(found.sessions * 2_000 / 1e9)
    assert found.written_mb_s == pytest.approx(10.0)
    assert found.brokers == 6  # 30 MB/s with the copies
    assert found.restore_s == pytest.approx(found.state_gb * 1e9 / 8 / 80e6)
    assert ceiling(MEASURED) == 2_500


@pytest.mark.parametrize("rate", RATES)
def test_more_events_never_take_less(rate: int) -> None:
    less, more = (estimate(each, MEASURED, Assumptions()) for each in (rate, 3 * rate))
    for name in ("workers", "partitions", "sessions", "broker_mb_s", "brokers", "topics_tb", "month"):
        assert getattr(less, name) <= getattr(more, name), name


def test_partitions_alone_can_ask_for_more_brokers() -> None:
    few = replace(Assumptions(), broker_partitions=100)
    assert estimate(10_000, MEASURED, few).brokers == 8  # 16 partitions of 16 topics, three times

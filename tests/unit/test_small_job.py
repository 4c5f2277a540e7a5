"""The small job of the benchmark scores as the detector of uniqueness does."""

import orjson

from benchmarks.contenders.small_job import WINDOW, scored
from benchmarks.small import folded
from benchmarks.stages import Input
from benchmarks.workload import Workload, produce
from streams.core.detectors.settings import DEFAULTS
from streams.core.detectors.uniqueness.detector import DETECTOR, UniquenessState
from streams.core.domain.decision import Decision

RECORDS = [
    (record.key, orjson.loads(record.value)) for record in produce(Workload(200, 20, 400, 0, "json"), 4, 0)
]


def test_it_has_the_window_of_the_defaults() -> None:
    assert DEFAULTS.entropy_window_size == WINDOW


def test_it_scores_as_the_detector_does() -> None:
    small: dict[bytes, UniquenessState] = {}
    whole: dict[bytes, UniquenessState] = {}
    severities = set()
    for offset, (key, value) in enumerate(RECORDS):
        small[key], output = scored(small.get(key, DETECTOR.fresh()), value)
        seen = DETECTOR.observe(whole.get(key, DETECTOR.fresh()), Decision.of(0, offset, value), {}, DEFAULTS)
        assert seen is not None
        whole[key], block, _ = seen
        said = orjson.loads(output)
        assert {name: block[name] for name in said if name != "event_id"} | {
            "event_id": value["event_id"]
        } == said
        severities.add(said["severity"])
    assert severities == {"NORMAL", "WARNING", "LOOP"}


def test_the_fold_keeps_the_order_of_the_records_and_their_keys() -> None:
    inputs = [Input(number, key, orjson.dumps(value), 0) for number, (key, value) in enumerate(RECORDS)]
    found = list(folded(inputs))
    assert [key for key, _ in found] == [key for key, _ in RECORDS]
    assert [orjson.loads(output)["event_id"] for _, output in found] == [v["event_id"] for _, v in RECORDS]

"""The load with silences has in it what housekeeping has to tell apart."""

import itertools
from collections import defaultdict

import orjson

from streams.kafka.client import Stored
from tests.faults.silences import silences
from tests.integration.load import partition_of
from tests.integration.reference_fold import value_of

LIVES_MS = 10_000
EVERY_MS = 12


def test_sessions_pause_for_less_and_for_more_than_they_live_and_go_on_late_or_in_time() -> None:
    now = iter(range(1_700_000_000_000, 1_800_000_000_000, EVERY_MS)).__next__
    said: dict[str, list[tuple[int, int]]] = defaultdict(list)
    refused = 0
    for number, (partition, record) in enumerate(silences(4, LIVES_MS, now_ms=now)):
        if number == 10_000:
            break
        try:
            value = value_of(Stored(0, 0, 0, None, record.value, ()))
        except (AssertionError, orjson.JSONDecodeError, KeyError, EOFError):
            refused += 1
            continue
        said[value["session_id"]].append((record.timestamp, value["meta"]["timestamp"]))
        assert partition == partition_of(value["session_id"], 4)
    assert refused > 100
    pauses = defaultdict(list)
    for name, records in said.items():
        for (before_ms, newest), (at_ms, timestamp) in itertools.pairwise(records):
            pauses[name.partition("-")[0]].append((at_ms - before_ms, timestamp - newest))
    assert max(pause for pause, _ in pauses["talking"]) < LIVES_MS / 2
    long = [later for pause, later in pauses["pausing"] if pause > LIVES_MS]
    assert min(long.count(1), len(long) - long.count(1)) > 50
    assert len([pause for pause, _ in pauses["pausing"] if LIVES_MS / 2 < pause < LIVES_MS]) > 50
    assert len([name for name in said if name.startswith("passing")]) > 100

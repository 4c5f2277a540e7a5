"""Whatever a stored session holds: it is judged, or refused with what to do, and nothing else."""

from pathlib import Path

import orjson
import pytest

from schemas.codec import Codec
from streams.brokers.client import Stored
from streams.detectors.settings import DEFAULTS
from streams.domain.run import Run
from streams.domain.session import DamagedSessionError
from streams.domain.topic import Topic
from streams.engine.state.changelog import blaming_state, decode_session, encode_session
from streams.errors import StateError
from streams.job import Job
from streams.pipeline import expire
from streams.run_result import RunResult
from tests.fuzz.stored import Sessions
from tests.integration.load import as_json, decision

JOB = Job(Codec.bundled(), group="g", version="1")


def messages(*numbers: int) -> list[Stored]:
    values = [decision("s", number, intent="again") for number in numbers]
    return [
        Stored(0, n, value["meta"]["timestamp"], b"s", as_json(value), ())
        for n, value in zip(numbers, values, strict=True)
    ]


def stored() -> list[object]:
    sessions = Sessions()
    JOB.fold(Run(Topic.DECISION_LOGS, 0, messages(0, 1, 2)), sessions, DEFAULTS, RunResult())
    snapshot: list[object] = orjson.loads(encode_session(sessions["s"]))
    return snapshot


@pytest.mark.parametrize("name", sorted(stored()[9]))  # type: ignore[call-overload]
def test_a_damaged_state_of_a_detector_is_refused(name: str) -> None:
    snapshot = stored()
    states = snapshot[9]
    assert isinstance(states, dict)
    states[name] = [None] * 30
    sessions = Sessions(s=decode_session(orjson.dumps(snapshot)))
    with (
        pytest.raises(StateError) as refused,
        blaming_state("changelog", 3, Path("data")),
    ):
        JOB.fold(Run(Topic.DECISION_LOGS, 0, messages(3)), sessions, DEFAULTS, RunResult())
    for words in ("partition 3", "session 's'", "data/3.db", "b'ss'", "changelog", "begins again"):
        assert words in str(refused.value)


def test_a_damaged_session_is_not_removed_without_a_word() -> None:
    snapshot = stored()
    snapshot[9] = {"verdict": [None] * 30}
    with pytest.raises(DamagedSessionError):
        expire("s", decode_session(orjson.dumps(snapshot)), DEFAULTS)


def test_an_error_over_a_session_nobody_stored_is_not_blamed_on_state(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(*_: object) -> None:
        raise ValueError("a mistake in the code")

    monkeypatch.setattr("streams.pipeline.scoring_status", broken)
    with pytest.raises(ValueError, match="a mistake"):
        JOB.fold(Run(Topic.DECISION_LOGS, 0, messages(0)), Sessions(), DEFAULTS, RunResult())

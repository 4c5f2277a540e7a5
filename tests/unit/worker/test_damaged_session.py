"""Whatever a stored session holds: it is judged, or refused with what to do, and nothing else."""

from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from schemas.codec import Codec
from schemas.encoder import UnencodableError
from streams.core.detectors.settings import DEFAULTS
from streams.core.detectors.verdict.episode import Episode
from streams.core.detectors.verdict.state import VerdictState
from streams.core.domain.run import Run
from streams.core.domain.session import DamagedSessionError, Session
from streams.core.domain.topic import Topic
from streams.core.errors import StateError
from streams.core.pipeline import expire
from streams.kafka.client import Stored
from streams.worker.batch import Job
from streams.worker.lifetime.due import Due
from streams.worker.lifetime.housekeeping import Removal, RemovalReason
from streams.worker.run_result import RunResult
from streams.worker.state.changelog import blaming_state, decode_session, encode_session
from tests.fuzz.stored import Sessions
from tests.integration.load import as_json, decision

JOB = Job(Codec.bundled(), group="g", version="1")
#: Fields of a state that no detector has so many of.
WRONG = len(VerdictState._fields) + 1


def messages(*numbers: int) -> list[Stored]:
    values = [decision("s", number, intent="again") for number in numbers]
    return [
        Stored(0, n, value["meta"]["timestamp"], b"s", as_json(value), ())
        for n, value in zip(numbers, values, strict=True)
    ]


def stored(records: int = 3) -> list[object]:
    sessions = Sessions()
    JOB.fold(Run(Topic.DECISION_LOGS, 0, messages(*range(records))), sessions, DEFAULTS, RunResult())
    snapshot: list[object] = orjson.loads(encode_session(sessions["s"]))
    return snapshot


@pytest.mark.parametrize("name", sorted(stored()[9]))  # type: ignore[call-overload]
def test_a_damaged_state_of_a_detector_is_refused(name: str) -> None:
    snapshot = stored()
    states = snapshot[9]
    assert isinstance(states, dict)
    states[name] = [None] * WRONG
    sessions = Sessions(s=decode_session(orjson.dumps(snapshot)))
    with (
        pytest.raises(StateError) as refused,
        blaming_state("changelog", 3, Path("data")),
    ):
        JOB.fold(Run(Topic.DECISION_LOGS, 0, messages(3)), sessions, DEFAULTS, RunResult())
    for words in ("partition 3", "session 's'", "data/3.db", "b'ss'", "changelog", "begins again"):
        assert words in str(refused.value)


@pytest.mark.parametrize("fields", [0, 7, 19, 22, 23, 27, len(VerdictState._fields) - 1])
def test_a_state_of_the_verdict_that_was_cut_is_refused(fields: int) -> None:
    snapshot = stored()
    states = snapshot[9]
    assert isinstance(states, dict)
    states["verdict"] = states["verdict"][:fields]
    sessions = Sessions(s=decode_session(orjson.dumps(snapshot)))
    with pytest.raises(DamagedSessionError, match=f"{fields} fields"):
        JOB.fold(Run(Topic.DECISION_LOGS, 0, messages(3)), sessions, DEFAULTS, RunResult())


def damaged_episode() -> Session:
    """A session of five records with an open episode, told of, that began at a time in words."""
    snapshot = stored(5)
    states = snapshot[9]
    assert isinstance(states, dict)
    episode = states["verdict"][VerdictState._fields.index("episode")]
    episode[Episode._fields.index("onset")][1] = "long ago"
    return decode_session(orjson.dumps(snapshot))


def test_a_damaged_state_that_shows_when_it_is_told_is_refused_too() -> None:
    ends = decision("s", 5) | {"control": {"is_terminal": True}}
    run = Run(Topic.DECISION_LOGS, 0, [Stored(0, 5, ends["meta"]["timestamp"], b"s", as_json(ends), ())])
    with pytest.raises(DamagedSessionError, match="first_timestamp: not long"):
        JOB.fold(run, Sessions(s=damaged_episode()), DEFAULTS, RunResult())


def test_a_session_whose_end_cannot_be_told_stays(caplog: pytest.LogCaptureFixture) -> None:
    session = damaged_episode()
    removal = Removal(RemovalReason.EXPIRED)
    removal.expire("s", Due(session, 0, expire("s", session, DEFAULTS)), JOB)
    assert removal.folded == RunResult()
    assert "'s' stays" in caplog.text


def test_a_record_that_no_schema_holds_is_not_blamed_on_state_that_nobody_stored() -> None:
    unsaid = replace(DEFAULTS, version="one")  # type: ignore[arg-type]
    with pytest.raises(UnencodableError, match="settings_version: not long"):
        JOB.fold(Run(Topic.DECISION_LOGS, 0, messages(0)), Sessions(), unsaid, RunResult())


def test_a_damaged_session_is_not_removed_without_a_word() -> None:
    snapshot = stored()
    snapshot[9] = {"verdict": [None] * WRONG}
    with pytest.raises(DamagedSessionError):
        expire("s", decode_session(orjson.dumps(snapshot)), DEFAULTS)


def test_an_error_over_a_session_nobody_stored_is_not_blamed_on_state(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(*_: object) -> None:
        raise ValueError("a mistake in the code")

    monkeypatch.setattr("streams.core.pipeline.scoring_status", broken)
    with pytest.raises(ValueError, match="a mistake"):
        JOB.fold(Run(Topic.DECISION_LOGS, 0, messages(0)), Sessions(), DEFAULTS, RunResult())

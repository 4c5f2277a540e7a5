"""What is stored of a session is read back as it was, and what cannot be read says what to do."""

import itertools

import orjson
import pytest

from schemas.codec import Codec
from streams.core.detectors.settings import DEFAULTS
from streams.core.domain.run import Run
from streams.core.domain.session import Session
from streams.core.errors import StateError
from streams.kafka.client import Stored
from streams.worker.batch import Job
from streams.worker.run_result import RunResult
from streams.worker.state.changelog import SETTINGS_KEY, decode_session, encode_session, session_key
from tests.integration.load import load


class Sessions(dict[str, Session]):
    """Sessions as the job wants them."""

    def put(self, session: Session, session_id: str) -> None:
        self[session_id] = session


@pytest.fixture(scope="module")
def sessions() -> Sessions:
    """Return sessions of every kind, as the job left them."""
    found = Sessions()
    messages = [
        Stored(0, offset, record.timestamp, record.key, record.value, record.headers)
        for offset, (_, record) in enumerate(itertools.islice(load(1), 900))
    ]
    Job(Codec.bundled(), group="g", version="1").fold(
        Run("decision-logs", 0, messages), found, DEFAULTS, RunResult()
    )
    return found


def test_a_shadow_is_stored_where_it_differs_and_read_back(sessions: Sessions) -> None:
    for session in sessions.values():
        alone = encode_session(session)
        assert encode_session(session._replace(shadow=session)) == alone
        other = session._replace(step=session.step + 1, shadow=None)
        if not session.ended:
            stored = encode_session(session._replace(shadow=other))
            assert stored.startswith(alone[:-1])
            restored = decode_session(stored)
            assert restored.shadow is not None
            assert encode_session(restored.shadow) == encode_session(other)
            assert encode_session(restored) == stored


def test_a_session_comes_back_as_it_was_in_the_same_bytes(sessions: Sessions) -> None:
    assert len(sessions) == 40
    for session in sessions.values():
        stored = encode_session(session)
        assert encode_session(decode_session(stored)) == stored


@pytest.mark.parametrize(
    "stored",
    [
        *(b"", b"{", b"[]", b"7", b"null", b"{}", b"[99]", b'["1"]', b"[1]", b"[1,0]"),
        b"[1,0,7," * 1000 + b"[1,0,7]" + b"]" * 1000,
    ],
)
def test_bytes_that_are_no_session_say_what_to_do(stored: bytes) -> None:
    with pytest.raises(StateError, match="delete the data directory"):
        decode_session(stored)


def test_a_session_of_a_newer_version_is_not_guessed_at(sessions: Sessions) -> None:
    version, *rest = orjson.loads(encode_session(next(iter(sessions.values()))))
    with pytest.raises(StateError, match="newer"):
        decode_session(orjson.dumps([version + 1, *rest]))


@pytest.mark.parametrize("session_id", ["ettings", "settings", "\N{PILE OF POO}", "\0", ""])
def test_no_session_is_called_as_the_ledger(session_id: str) -> None:
    assert session_key(session_id) != SETTINGS_KEY
    assert session_key(session_id).decode()[1:] == session_id

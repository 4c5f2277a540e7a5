"""Where a session stands, asked of the worker that has it and of one that has not."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from streams.core.domain.level import Level
from streams.observe.settings import WorkerSettings
from streams.worker.health.liveness import HealthAnswer
from streams.worker.state.changelog import encode_session, session_key
from streams.worker.wiring import SessionLookup, build
from tests.stream import Stream, repeated

READY = HealthAnswer(True, "ready")


@dataclass
class Ready:
    """A worker's health."""

    answer: HealthAnswer = READY

    def ready(self) -> HealthAnswer:
        return self.answer


@pytest.fixture
def app(tmp_path: Path) -> Iterator[Any]:
    app = build(WorkerSettings(_env_file=None, data_dir=tmp_path))
    yield app
    app.sessions.stores.close_all()


def looped(session: str = "s1") -> bytes:
    """The stored state of a session that did the same four times."""
    stream = Stream()
    stream.run(repeated(4, session=session, tool="search", error="no match"))
    return encode_session(stream.sessions[session])


def test_the_session_is_found_in_its_partition(app: Any) -> None:
    app.sessions.stores[0].write([(session_key("other"), looped("other"))], 1, 0)
    app.sessions.stores[3].write([(session_key("s1"), looped())], 1, 0)
    status, body = SessionLookup(app, Ready())("s1")
    assert status == 200
    assert json.loads(json.dumps(body)) == body
    assert (body["session_id"], body["offset"], body["step"], body["node"]) == ("s1", 3, 4, "blocked")
    assert (body["level"], body["episode"]["rule"]) == ("LOOP", "R1")
    (first, *_) = body["rules"]
    assert (first["rule"], first["count"], first["warn"], first["loop"]) == ("R1", 4, 3, 4)


def test_a_gateway_is_told_whether_a_session_loops_and_that_commands_are_not_known(app: Any) -> None:
    app.sessions.stores[3].write([(session_key("s1"), looped())], 1, 0)
    lookup = SessionLookup(app, Ready())
    status, body = lookup.verdict("s1", Level.LOOP)
    assert (status, json.loads(json.dumps(body))) == (200, body)
    assert (body["known"], body["level"], body["rule"], body["control"]) == (True, "LOOP", "R1", None)
    assert (body["allow"], body["why"]) == (False, "The session goes in circles (R1).")
    assert lookup.verdict("s1", None)[1]["allow"] is True
    assert lookup.verdict("s2", Level.LOOP)[0] == 404
    assert SessionLookup(app, Ready(HealthAnswer(False, "restoring"))).verdict("s1", None)[0] == 503


@pytest.mark.parametrize("session_id", ["s2", "", "\ud800"])
def test_a_session_that_is_not_here_is_not_found_and_it_is_said_where_was_looked(
    app: Any, session_id: str
) -> None:
    app.sessions.stores[3].write([(session_key("s1"), looped())], 1, 0)
    app.sessions.stores[5].write([], 1, 0)
    status, body = SessionLookup(app, Ready())(session_id)
    assert status == 404
    assert "partitions of this worker: 3, 5. Ask the other workers" in body["problem"]


def test_nothing_is_told_before_the_state_is_there(app: Any) -> None:
    status, body = SessionLookup(app, Ready(HealthAnswer(False, "restoring state")))("s1")
    assert (status, body) == (503, {"problem": "the worker is not ready: restoring state"})

"""`eddy dlq redrive` at a terminal: it asks, and does what was in the question."""

from __future__ import annotations

from contextlib import asynccontextmanager

import orjson
import pytest
from click.testing import CliRunner, Result

from streams.cli import dlq, main
from streams.core.domain.record import Outgoing
from streams.core.domain.topic import Topic
from streams.worker.dead_letter import LetterSource, rejected_headers
from tests.stream import decision_log
from tests.unit.operate.redrive.fake_brokers import FakeBrokers


def put(brokers: FakeBrokers, offset: int, key: bytes = b"s") -> None:
    headers = rejected_headers(
        LetterSource("decision-logs", 1, offset), ["key"], "wrong", group="g", version="1"
    )
    value = orjson.dumps(decision_log(number=offset, session="s"))
    brokers.put(Topic.DEAD_LETTERS, 1, Outgoing(key, value, 0, list(headers)))


@pytest.fixture
def brokers(monkeypatch: pytest.MonkeyPatch) -> FakeBrokers:
    brokers = FakeBrokers()

    @asynccontextmanager
    async def connect(_):
        yield brokers

    monkeypatch.setattr(dlq, "connect", connect)
    for offset in range(3):
        put(brokers, offset)
    put(brokers, 3, b"other")
    return brokers


def redrive(*words: str, answer: str | None = None, monkeypatch: pytest.MonkeyPatch | None = None) -> Result:
    if monkeypatch is not None:
        monkeypatch.setattr(
            dlq, "sys", type("Terminal", (), {"stdin": type("", (), {"isatty": staticmethod(lambda: True)})})
        )
    return CliRunner().invoke(main, ["dlq", "redrive", *words], input=answer)


def test_a_refusal_sends_nothing(brokers, monkeypatch):
    result = redrive("--all", answer="n\n", monkeypatch=monkeypatch)
    assert result.exit_code == 1
    assert "Send 3 messages to decision-logs again? [y/N]" in result.stderr
    assert brokers.writes == []


def test_a_yes_sends_what_was_in_the_question_and_nothing_that_came_after_it(brokers, monkeypatch):
    def confirm(*_, **__):
        put(brokers, 9)
        return True

    monkeypatch.setattr(dlq.click, "confirm", confirm)
    result = redrive("--all", monkeypatch=monkeypatch)
    assert result.exit_code == 1  # one letter was left
    assert result.stdout.splitlines()[-1] == "3 sent again, 1 would come back (--force sends them)"
    assert len(brokers.held("decision-logs")) == 3


def test_where_there_is_nothing_to_send_nobody_is_asked(brokers, monkeypatch):
    assert redrive("1:0", "1:1", "1:2", "--yes").exit_code == 0
    result = redrive("--all", monkeypatch=monkeypatch)
    assert result.exit_code == 1
    assert "Send" not in result.stderr
    assert result.stdout.splitlines()[-1].startswith("0 sent again, 3 sent before, 1 would come back")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "--all for every one"),
        (("--all", "--reason", "key"), "--all for every one"),
        (("1:2", "--from", "3"), "exclude each other"),
        (("17",), "PARTITION:OFFSET"),
        (("--all",), "--yes"),
    ],
)
def test_what_is_meant_has_to_be_said(brokers, words, said):
    result = redrive(*words)
    assert result.exit_code == 2
    assert said in result.stderr
    assert brokers.writes == []

"""Thousands of lines of the client library become a few, and none of ours is lost."""

import logging

import pytest

from streams.observe.client_errors import ClientErrors

UNREACHABLE = (
    ("aiokafka", "Unable connect to node with id %s: %s", (1, "refused")),
    ("aiokafka", "Unable to update metadata from %s", ([1],)),
    ("aiokafka.consumer.fetcher", "Failed fetch messages from %s: %s", (1, "NodeNotReadyError")),
    ("aiokafka.consumer.group_coordinator", "Group Coordinator Request failed: %s", ("NodeNotReadyError",)),
    ("aiokafka.producer.sender", "Got error produce response: %s", ("RequestTimedOutError",)),
)


class Log:
    """What a handler with the filter writes."""

    def __init__(self, *, fold: bool = True) -> None:
        self.now = 0.0
        self.errors = ClientErrors(fold=fold, now=lambda: self.now)
        self.written: list[str] = []

    def say(self, name: str, message: str, args: tuple[object, ...] = (), level: int = logging.ERROR) -> None:
        record = logging.LogRecord(name, level, __file__, 1, message, args, None)
        if self.errors.filter(record):
            self.written.append(record.getMessage())

    def outage(self, rounds: int) -> None:
        for _ in range(rounds):
            for name, message, args in UNREACHABLE:
                self.say(name, message, args)


@pytest.fixture
def log() -> Log:
    return Log()


def test_that_a_broker_cannot_be_reached_for_a_moment_is_not_written(log: Log) -> None:
    for _ in range(5):
        log.outage(1000)
        log.now += 600
    assert log.written == []
    assert log.errors.seen == 25_000


def test_that_it_lasts_is_written_once_in_five_minutes_with_the_number_of_lines_left_out(log: Log) -> None:
    for _ in range(700):
        log.outage(1)
        log.now += 1
    assert log.written == [
        "Unable connect to node with id 1: refused (50 lines like it were left out)",
        "Unable connect to node with id 1: refused (1,499 lines like it were left out)",
        "Unable connect to node with id 1: refused (1,499 lines like it were left out)",
    ]


def test_nothing_of_it_is_written_while_a_line_of_ours_says_that_no_broker_answers(log: Log) -> None:
    log.errors.hushed = True
    for _ in range(1000):
        log.outage(1)
        log.now += 1
    log.say("aiokafka.cluster", "Topic %s is not authorized for this client", ("topology",))
    assert log.written == ["Topic topology is not authorized for this client"]
    assert log.errors.seen == 5000


def test_other_errors_of_the_library_are_told_apart_by_all_but_their_numbers(log: Log) -> None:
    for topic in ("decision-logs", "topology"):
        for _ in range(10):
            log.say("aiokafka", "Topic %s is not authorized for this client", (topic,))
    for offset in range(10):
        log.say("aiokafka", "OffsetCommit failed at %s", (offset,))
    assert log.written == [
        "Topic decision-logs is not authorized for this client",
        "Topic topology is not authorized for this client",
        "OffsetCommit failed at 0",
    ]


def test_a_rebalance_is_no_warning(log: Log) -> None:
    message = "Heartbeat failed for group %s because it is rebalancing"
    log.say("aiokafka.consumer.group_coordinator", message, ("eddy",), logging.WARNING)
    assert log.written == []


@pytest.mark.parametrize(
    ("name", "message", "level"),
    [
        ("streams.worker.epoch", "one dead letter", logging.WARNING),
        ("asyncio", "Task exception was never retrieved", logging.ERROR),
        ("aiokafka", "chatter", logging.INFO),
    ],
)
def test_lines_of_others_pass_each_time(log: Log, name: str, message: str, level: int) -> None:
    log.errors.hushed = True
    for _ in range(3):
        log.say(name, message, level=level)
    assert log.written == [message] * 3


def test_whoever_asks_for_everything_gets_each_line() -> None:
    log = Log(fold=False)
    log.errors.hushed = True
    log.outage(2)
    assert len(log.written) == log.errors.seen == 10


def test_it_does_not_keep_every_line_in_mind(log: Log) -> None:
    for number in range(1000):
        log.say("aiokafka", "about " + "x" * number)
    assert len(log.written) == 1000
    assert len(log.errors._folded) <= 256

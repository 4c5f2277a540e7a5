"""Sending letters again: each message once, in order, some hundred at a time."""

from __future__ import annotations

import orjson
import pytest

from schemas.codec import Codec
from streams.core.detectors.settings import DEFAULTS
from streams.core.domain.topic import Topic
from streams.core.errors import ConfigurationError, InfrastructureError
from streams.operate.redrive.letter import read
from streams.operate.redrive.memory import Mark, mark_record
from streams.operate.redrive.redrive import LetterOutcome, Redrive, RedriveRequest, Trial, target
from streams.worker.dead_letter import LetterSource, rejected_headers
from tests.stream import decision_log
from tests.unit.operate.redrive.fake_brokers import FakeBrokers
from tests.unit.operate.redrive.test_letter import Stored

NOW = 1_790_000_000_000


def letter(offset, partition=1, at=None, **stored):
    value = orjson.dumps(decision_log(number=offset, session="s"))
    headers = rejected_headers(
        LetterSource("decision-logs", partition, offset, [("own", b"1")]),
        ["key"],
        "wrong",
        group="g",
        version="1",
    )
    return read(
        Stored(
            **{
                "partition": partition,
                "offset": offset if at is None else at,
                "key": b"s",
                "value": value,
                "headers": headers,
                **stored,
            }
        )
    )


async def letters(*given):
    for each in given:
        yield each


async def sent(brokers, *given, **request):
    return [each.outcome for each in await told_of(brokers, *given, **request)]


async def told_of(brokers, *given, **request):
    told = []
    trial = Trial(Codec.bundled(), DEFAULTS)
    redrive = Redrive(brokers, trial, await target(brokers), RedriveRequest(now=NOW, **request), told.append)
    await redrive.send(letters(*given))
    assert sum(redrive.outcomes.values()) == len(told) == len(given)
    return told


@pytest.fixture
def brokers() -> FakeBrokers:
    return FakeBrokers()


async def test_messages_go_to_where_they_stood_as_they_came(brokers):
    assert await sent(brokers, letter(5), letter(7), letter(6, partition=3)) == [LetterOutcome.SENT] * 3
    one, two = brokers.topics["decision-logs", 1]
    assert (one.key, one.value, one.timestamp) == (b"s", letter(5).value, NOW)
    assert one.headers == [("own", b"1"), ("x-redrive-count", b"1")]
    assert two.value == letter(7).value
    assert [each.value for each in brokers.topics["decision-logs", 3]] == [letter(6).value]


async def test_some_hundred_are_held_at_a_time_and_marked_before_they_are_sent(brokers):
    assert await sent(brokers, *(letter(number) for number in range(1_200))) == [LetterOutcome.SENT] * 1_200
    names = [Topic.REDRIVEN, Topic.DECISION_LOGS, Topic.REDRIVEN] * 3
    assert brokers.writes == list(zip(names, [500] * 6 + [200] * 3, strict=True))
    large = [letter(number, value=b"{" + b" " * (1 << 20) + b"}") for number in range(2_000, 2_010)]
    brokers.writes.clear()
    await sent(brokers, *large, force=True)
    assert max(size for _, size in brokers.writes) == 3


async def test_a_message_is_sent_once_however_many_letters_and_calls_there_are(brokers):
    assert await sent(brokers, letter(5), letter(5, at=9)) == [LetterOutcome.SENT_BEFORE, LetterOutcome.SENT]
    assert await sent(brokers, letter(5), letter(5, at=9)) == [LetterOutcome.SENT_BEFORE] * 2
    assert await sent(brokers, letter(5), letter(5, at=9), again=True) == [
        LetterOutcome.SENT_BEFORE,
        LetterOutcome.SENT,
    ]
    assert len(brokers.held("decision-logs")) == 2
    assert await sent(brokers, letter(5, partition=2)) == [LetterOutcome.SENT]


async def test_a_dry_run_tells_the_same_and_writes_nothing(brokers):
    wanted = (letter(5), letter(5, at=9), letter(6, key=b"t"), letter(8))
    dry = await sent(brokers, *wanted, dry_run=True)
    assert brokers.writes == []
    assert sorted(dry) == sorted(await sent(brokers, *wanted))


async def test_of_two_calls_at_the_same_moment_one_sends(brokers):
    rival = mark_record(1, 5, Mark("rival", 1, done=False), NOW)

    def overtake(topic):
        if topic == Topic.REDRIVEN and not brokers.held(Topic.REDRIVEN):
            brokers.put(Topic.REDRIVEN, 1, rival)

    brokers.before_write = overtake
    assert await sent(brokers, letter(5), letter(6)) == [LetterOutcome.UNCERTAIN, LetterOutcome.SENT]
    assert [each.value for each in brokers.held("decision-logs")] == [letter(6).value]


async def test_what_a_call_was_interrupted_in_is_left_until_somebody_has_looked(brokers):
    def fail(topic):
        if topic == Topic.DECISION_LOGS:
            raise InfrastructureError("gone")

    brokers.before_write = fail
    with pytest.raises(InfrastructureError):
        await sent(brokers, letter(5))
    brokers.before_write = lambda _: None
    assert await sent(brokers, letter(5)) == [LetterOutcome.UNCERTAIN]
    assert await sent(brokers, letter(5), again=True) == [LetterOutcome.SENT]
    assert await sent(brokers, letter(5)) == [LetterOutcome.SENT_BEFORE]


async def test_what_would_come_back_is_left_unless_forced():
    brokers = FakeBrokers(**{"max.message.bytes": "1000"})
    large = letter(6, value=b"{" + b" " * 900 + b"}")
    assert await sent(brokers, letter(5, key=b"t"), large) == [LetterOutcome.USELESS] * 2
    assert brokers.writes == []
    assert await sent(brokers, letter(5, key=b"t"), large, force=True) == [LetterOutcome.SENT] * 2


async def test_a_letter_without_a_place_goes_nowhere(brokers):
    elsewhere = rejected_headers(LetterSource("payments", 0, 0), ["key"], "wrong", group="g", version="1")
    foreign = [read(Stored()), letter(5, headers=elsewhere), letter(5, partition=4)]
    assert await sent(brokers, *foreign, force=True, again=True) == [LetterOutcome.FOREIGN] * 3
    assert brokers.writes == []


async def test_without_the_topic_of_marks_nothing_is_sent(brokers):
    brokers.missing.add(Topic.REDRIVEN)
    with pytest.raises(ConfigurationError, match="eddy topics apply"):
        await sent(brokers, letter(5))
    assert brokers.writes == []


async def test_a_letter_whose_mark_has_no_partition_is_told_apart_from_one_without_a_place(brokers):
    brokers.with_marks = 2
    unmarked, nowhere = await told_of(brokers, letter(5, partition=3), letter(5, partition=4))
    assert (unmarked.outcome, nowhere.outcome) == (LetterOutcome.FOREIGN, LetterOutcome.FOREIGN)
    assert "decision-logs-redriven has no partition 3" in unmarked.why
    assert nowhere.why == "there is no partition 4"

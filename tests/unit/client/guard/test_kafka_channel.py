"""The guard's channel to Kafka, on a client whose brokers answer what a test says."""

from types import SimpleNamespace
from typing import Any

import confluent_kafka
import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition
from eddy_client.guard import kafka_channel
from eddy_client.guard.kafka_channel import ACKS, COMMANDS, KafkaChannel


class Brokers:
    """What both clients of a channel talk to: two topics of two partitions, in which nothing stands."""

    def __init__(self) -> None:
        self.messages: list[Any] = []
        self.asked: list[tuple[str, int]] = []
        self.silent: tuple[str, int] | None = None
        self.written: list[bytes] = []
        self.refuses: int | None = None

    # -- as a consumer

    def list_topics(self, timeout: float) -> Any:
        topic = SimpleNamespace(error=None, partitions={0: None, 1: None})
        return SimpleNamespace(topics=dict.fromkeys((COMMANDS, ACKS), topic))

    def get_watermark_offsets(self, place: TopicPartition, timeout: float) -> tuple[int, int]:
        self.asked.append((place.topic, place.partition))
        if self.asked[-1] == self.silent:
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT))
        return 0, 0

    def offsets_for_times(self, places: list[TopicPartition], timeout: float) -> list[TopicPartition]:
        return [TopicPartition(each.topic, each.partition, -1) for each in places]

    def assign(self, places: list[TopicPartition]) -> None: ...

    def consume(self, most: int, within: float) -> list[Any]:
        found, self.messages = self.messages, []
        return found

    # -- as a producer

    def poll(self, within: float) -> None: ...

    def produce(self, topic: str, key: bytes, value: bytes, on_delivery: object) -> None:
        if self.refuses is not None and key == b"s-1":
            raise KafkaException(KafkaError(self.refuses))
        self.written.append(key)


@pytest.fixture
def brokers(monkeypatch: pytest.MonkeyPatch) -> Brokers:
    found = Brokers()
    for name in ("Consumer", "Producer"):
        monkeypatch.setattr(confluent_kafka, name, lambda *_, **__: found)
    return found


@pytest.fixture
def channel(brokers: Brokers) -> KafkaChannel:
    return KafkaChannel("127.0.0.1:9", (), "", {})


def failed(code: int) -> Any:
    return SimpleNamespace(error=lambda: KafkaError(code))


@pytest.mark.parametrize(
    "code",
    [KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError.UNKNOWN_TOPIC_ID],
)
def test_a_channel_that_may_not_read_commands_is_lost_although_brokers_answer(
    channel: KafkaChannel, brokers: Brokers, code: int
) -> None:
    brokers.messages = [failed(KafkaError._ALL_BROKERS_DOWN)]
    channel.step(0)  # which passes by itself
    brokers.messages = [failed(code)]
    with pytest.raises(KafkaException):
        channel.step(0)


def test_each_partition_is_asked_in_turn_and_one_that_is_silent_ends_the_channel(
    channel: KafkaChannel, brokers: Brokers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its commands cannot be heard, whatever the brokers of the others say."""
    monkeypatch.setattr(kafka_channel, "_ALIVE_EVERY_S", 0)
    del brokers.asked[:]
    for _ in range(5):
        channel.step(0)
    places = [(COMMANDS, 0), (COMMANDS, 1), (ACKS, 0), (ACKS, 1)]
    assert brokers.asked == [*places, places[0]]
    brokers.silent = places[1]
    with pytest.raises(KafkaException):
        channel.step(0)


def test_an_ack_that_the_client_never_takes_keeps_no_other_back(
    channel: KafkaChannel, brokers: Brokers, caplog: pytest.LogCaptureFixture
) -> None:
    acks = [{"session_id": f"s-{number}", "status": "applied"} for number in range(3)]
    brokers.refuses = KafkaError.MSG_SIZE_TOO_LARGE
    channel.send(acks)
    assert brokers.written == [b"s-0", b"s-2"]
    assert "An acknowledgement (applied, session s-1) is left out: " in caplog.text
    brokers.refuses = KafkaError._FATAL
    with pytest.raises(KafkaException):
        channel.send(acks)

"""The ids of topics, asked for in Kafka's own bytes: Metadata, version 12."""

from __future__ import annotations

from typing import Any

import pytest
from aiokafka.errors import (
    BrokerNotAvailableError,
    KafkaConnectionError,
    TopicAuthorizationFailedError,
)

from streams.core.errors import InfrastructureError
from streams.kafka import topic_identity
from streams.kafka.topic_identity import text_of, topic_ids

ID = bytes(range(16))
NO_ID = bytes(16)

#: No error, partition 2, leader 1, epoch 5, replicas [1], in sync [1], none offline, no tags.
PARTITION = bytes.fromhex("0000 00000002 00000001 00000005 02 00000001 02 00000001 01 00")
#: Nobody asked what may be done with it.
OPERATIONS = bytes.fromhex("80000000 00")


def compact(text: str) -> bytes:
    return bytes([len(text) + 1]) + text.encode()


def topic_bytes(name: str, topic_id: bytes, code: int = 0, partitions: tuple[bytes, ...] = ()) -> bytes:
    partition_count = bytes([len(partitions) + 1])
    head = code.to_bytes(2, "big") + compact(name) + topic_id + b"\x00"
    return head + partition_count + b"".join(partitions) + OPERATIONS


def answer_bytes(*topics: bytes) -> bytes:
    """Return an answer without its header: one broker, with a rack and without."""
    rack = bytes.fromhex("00000001") + compact("host-1") + bytes.fromhex("00002384") + compact("r") + b"\x00"
    none = bytes.fromhex("00000002") + compact("host-2") + bytes.fromhex("00002384") + b"\x00" + b"\x00"
    brokers = b"\x03" + rack + none
    return (
        bytes.fromhex("00000000")
        + brokers
        + compact("cluster")
        + bytes.fromhex("00000001")
        + bytes([len(topics) + 1])
        + b"".join(topics)
        + b"\x00"
    )


class Broker:
    """Answers, one after another, with bytes or with an error; the last again and again."""

    def __init__(self, *answers: bytes | BaseException, nodes: tuple[int | None, ...] = (7,)) -> None:
        self._answers = list(answers)
        self._nodes = list(nodes)
        self.asked: list[bytes] = []

    def get_random_node(self) -> int | None:
        return self._nodes.pop(0) if len(self._nodes) > 1 else self._nodes[0]

    async def send(self, node_id: int, request: Any) -> Any:
        assert node_id == 7
        struct = request.build(topic_identity._MetadataStruct)
        self.asked.append(struct.encode())
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, BaseException):
            raise answer
        return struct.RESPONSE_TYPE.decode(answer)


@pytest.fixture(autouse=True)
def _without_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topic_identity, "_PAUSE_SECONDS", 0.0)


async def test_the_request_names_topics_and_creates_none() -> None:
    broker = Broker(answer_bytes())
    assert await topic_ids(broker, ["b", "a", "b"]) == {}
    [asked] = broker.asked
    two = NO_ID + compact("a") + b"\x00" + NO_ID + compact("b") + b"\x00"
    create = authorized = b"\x00"
    assert asked == b"\x03" + two + create + authorized + b"\x00"


async def test_topics_that_exist_have_their_ids() -> None:
    broker = Broker(answer_bytes(topic_bytes("a", ID, partitions=(PARTITION,)), topic_bytes("b", ID[::-1])))
    assert await topic_ids(broker, ["a", "b"]) == {"a": text_of(ID), "b": text_of(ID[::-1])}


async def test_a_topic_that_does_not_exist_is_left_out() -> None:
    missing = topic_bytes("b", NO_ID, code=3)
    assert await topic_ids(Broker(answer_bytes(topic_bytes("a", ID), missing)), ["a", "b"]) == {
        "a": text_of(ID)
    }


async def test_a_topic_without_a_leader_for_a_moment_still_has_its_id() -> None:
    leaderless = topic_bytes("a", ID, code=5)
    assert await topic_ids(Broker(answer_bytes(leaderless)), ["a"]) == {"a": text_of(ID)}


async def test_a_broker_that_gives_no_ids_is_told_from_one_that_does_not_have_the_topic() -> None:
    assert await topic_ids(Broker(answer_bytes(topic_bytes("a", NO_ID))), ["a"]) == {"a": None}


async def test_where_brokers_do_not_speak_the_version_no_topic_has_an_id() -> None:
    assert await topic_ids(Broker(NotImplementedError()), ["a", "b"]) == {"a": None, "b": None}


async def test_after_a_broker_that_fails_another_one_is_asked() -> None:
    fine = answer_bytes(topic_bytes("a", ID))
    broker = Broker(BrokerNotAvailableError(), KafkaConnectionError("x"), fine, nodes=(7, 7, None, 7))
    assert await topic_ids(broker, ["a"]) == {"a": text_of(ID)}
    assert len(broker.asked) == 3


@pytest.mark.parametrize("refused", [answer_bytes(topic_bytes("a", NO_ID, code=29)), KafkaConnectionError()])
async def test_brokers_that_do_not_tell_for_long_are_a_failure_that_says_why(
    refused: bytes | Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(topic_identity, "_PATIENCE_SECONDS", -1.0)
    with pytest.raises(InfrastructureError, match="do not report which topics there are") as failed:
        await topic_ids(Broker(refused), ["a"])
    expected = TopicAuthorizationFailedError if isinstance(refused, bytes) else KafkaConnectionError
    assert isinstance(failed.value.__cause__, expected)


def test_an_id_is_written_as_kafkas_tools_write_it() -> None:
    assert text_of(bytes.fromhex("fb ff" + "00" * 14)) == "-_8AAAAAAAAAAAAAAAAAAA"

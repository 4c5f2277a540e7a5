"""Which topic a name refers to: Kafka gives each topic an id, and another one when it is created again.

Offsets mean something in one topic only. A topic that was deleted and created again has the old name and
begins at offset 0 again: its records would be taken for those that were scored before. aiokafka asks for
metadata in a version without ids, so the request is written here (KIP-516, Metadata version 12).
"""

from __future__ import annotations

import asyncio
import base64
import random
import time
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from io import BytesIO
from typing import Any, Protocol

from aiokafka.errors import KafkaError, UnknownTopicOrPartitionError, for_code
from aiokafka.protocol.api import Request, RequestStruct, Response
from aiokafka.protocol.types import Boolean, CompactArray, CompactString, Int16, Int32, Schema, TaggedFields

from streams.core.domain.topic import Topic
from streams.core.errors import InfrastructureError
from topics.catalogue import Catalogue, TopicSpec

_OF_EDDY = "eddy-"


def job_topics(
    application_id: str,
    topic_prefix: str = "",
    *,
    partitions: int,
    replicas: int,
    span_partitions: int | None = None,
) -> Catalogue:
    """Return the topics a job needs on a cluster of this size.

    Args:
        application_id: The job's name, at the beginning of its internal topics.
        topic_prefix: Before the names of all others.
        partitions: The partitions of the session topics.
        replicas: The replicas of every topic.
        span_partitions: The partitions of the topic of spans, where another program has created it.

    >>> job_topics("eddy-2", partitions=4, replicas=1)["eddy-2-sessions-changelog"].partitions
    4
    """
    loaded = Catalogue.load(partitions=partitions, replicas=replicas)
    own = {
        topic.name: f"{application_id}-{topic.name.removeprefix(_OF_EDDY)}"
        if topic.internal
        else f"{topic_prefix}{topic.name}"
        for topic in loaded.topics
    }
    return Catalogue(tuple(_renamed(topic, own) for topic in _with_spans(loaded.topics, span_partitions)))


def _with_spans(topics: Iterable[TopicSpec], partitions: int | None) -> Iterable[TopicSpec]:
    for topic in topics:
        of_spans = Topic.OTLP_SPANS in {topic.name, topic.co_partitioned_with}
        yield replace(topic, partitions=partitions) if of_spans and partitions else topic


def _renamed(topic: TopicSpec, own: Mapping[str, str]) -> TopicSpec:
    partner = topic.co_partitioned_with
    return replace(
        topic,
        name=own[topic.name],
        co_partitioned_with=None if partner is None else own[partner],
    )


_ID_BYTES = 16
_NO_ID = bytes(_ID_BYTES)

#: How long brokers are asked one after another until one answers.
_PATIENCE_SECONDS = 30.0
_PAUSE_SECONDS = 0.2


class _Id:
    @staticmethod
    def encode(value: bytes) -> bytes:
        return value

    @staticmethod
    def decode(data: BytesIO) -> bytes:
        return data.read(_ID_BYTES)


class _MetadataResponse(Response):  # type: ignore[misc]  # aiokafka has no types
    API_KEY = 3
    API_VERSION = 12
    SCHEMA = Schema(
        ("throttle_time_ms", Int32),
        (
            "brokers",
            CompactArray(
                ("node_id", Int32),
                ("host", CompactString("utf-8")),
                ("port", Int32),
                ("rack", CompactString("utf-8")),
                ("tags", TaggedFields),
            ),
        ),
        ("cluster_id", CompactString("utf-8")),
        ("controller_id", Int32),
        (
            "topics",
            CompactArray(
                ("error_code", Int16),
                ("topic", CompactString("utf-8")),
                ("topic_id", _Id),
                ("is_internal", Boolean),
                (
                    "partitions",
                    CompactArray(
                        ("error_code", Int16),
                        ("partition", Int32),
                        ("leader", Int32),
                        ("leader_epoch", Int32),
                        ("replicas", CompactArray(Int32)),
                        ("isr", CompactArray(Int32)),
                        ("offline", CompactArray(Int32)),
                        ("tags", TaggedFields),
                    ),
                ),
                ("authorized_operations", Int32),
                ("tags", TaggedFields),
            ),
        ),
        ("tags", TaggedFields),
    )


class _MetadataStruct(RequestStruct):  # type: ignore[misc]
    API_KEY = 3
    API_VERSION = 12
    FLEXIBLE_VERSION = True
    RESPONSE_TYPE = _MetadataResponse
    SCHEMA = Schema(
        (
            "topics",
            CompactArray(("topic_id", _Id), ("topic", CompactString("utf-8")), ("tags", TaggedFields)),
        ),
        ("allow_auto_topic_creation", Boolean),
        ("include_topic_authorized_operations", Boolean),
        ("tags", TaggedFields),
    )


class _Metadata(Request[_MetadataStruct]):  # type: ignore[misc]
    API_KEY = 3

    def __init__(self, topics: Collection[str]) -> None:
        self._topics = topics

    def build(self, request_struct_class: type[_MetadataStruct]) -> _MetadataStruct:
        named: list[tuple[bytes, str, dict[int, bytes]]] = [(_NO_ID, topic, {}) for topic in self._topics]
        return request_struct_class(named, False, False, {})


class Client(Protocol):
    """The part of aiokafka's client that is needed."""

    def get_random_node(self) -> int | None:
        """Return one of the brokers, None when none is known."""

    async def send(self, node_id: int, request: Any) -> Any:
        """Send a request and return the answer."""


async def topic_ids(client: Client, topics: Iterable[str]) -> dict[str, str | None]:
    """Return the id of each topic that exists, as Kafka's own tools write it.

    None is the id of every topic where brokers give none: before Kafka 2.8 there were no ids.

    Raises:
        InfrastructureError: no broker answers.
    """
    wanted = sorted(set(topics))
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while True:
        try:
            return await _ask(client, wanted)
        except NotImplementedError:  # aiokafka's word for a version that the broker does not speak
            return dict.fromkeys(wanted)
        except KafkaError as error:
            if time.monotonic() > deadline:
                raise InfrastructureError(
                    f"The brokers do not report which topics there are ({error!r}). Check that they run and "
                    "can be reached."
                ) from error
        # Another broker may live; a broker that has just started may answer in a moment.
        await asyncio.sleep(_PAUSE_SECONDS * (0.5 + random.random()))


async def _ask(client: Client, topics: list[str]) -> dict[str, str | None]:
    node = client.get_random_node()
    if node is None:
        raise KafkaError("no broker is known")
    answer = await client.send(node, _Metadata(topics))
    found: dict[str, str | None] = {}
    for code, topic, topic_id, *_ in answer.topics:
        error = for_code(code)
        if error is UnknownTopicOrPartitionError:
            continue
        if code and topic_id == _NO_ID:
            raise error(topic)
        found[topic] = None if topic_id == _NO_ID else text_of(topic_id)
    return found


def text_of(topic_id: bytes) -> str:
    """Return an id as Kafka writes it.

    >>> text_of(bytes(range(16)))
    'AAECAwQFBgcICQoLDA0ODw'
    """
    return base64.urlsafe_b64encode(topic_id).decode().rstrip("=")

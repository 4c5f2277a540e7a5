"""What can be seen of the brokers and of a job from outside: nothing is joined, nothing written."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.conn import create_conn
from aiokafka.errors import GroupCoordinatorNotAvailableError, KafkaError, for_code
from aiokafka.protocol.metadata import MetadataRequest

from streams.core.errors import InfrastructureError
from streams.kafka.connection import Connection, what_to_do

_POLL_MS = 500

#: How far before its end the newest record of a partition is looked for: marks at the ends of transactions
#: have offsets, too, and several producers may have ended theirs at one time.
_LOOK_BACK = 4


class ServerAnswer(NamedTuple):
    """Whether a bootstrap server lets us in; ``problem`` is None where it does, ``advice`` what to do."""

    server: str
    problem: str | None = None
    advice: str = ""


class Ends(NamedTuple):
    """The first offset a partition holds, the one after the last, and the last record's timestamp in ms."""

    begin: int
    end: int
    newest: int | None = None


class GroupOffsets(NamedTuple):
    """A consumer group, its offsets by topic and partition.

    ``members`` is None where the brokers do not report them.
    """

    state: str
    members: int | None
    committed: Mapping[tuple[str, int], int]


async def answers(connection: Connection, within: float) -> list[ServerAnswer]:
    """Ask each bootstrap server for its cluster, with TLS and login as every client does it.

    Raises:
        ConfigurationError: a certificate or key file cannot be read.
    """
    options = connection.client_options()
    del options["bootstrap_servers"]
    asked = [_answer(server, connection, options, within) for server in connection.servers]
    return list(await asyncio.gather(*asked))


async def _answer(
    server: str, connection: Connection, options: dict[str, Any], within: float
) -> ServerAnswer:
    host, _, port = server.rpartition(":") if ":" in server.rpartition("]")[2] else (server, "", "9092")
    try:
        async with asyncio.timeout(within):
            asked = await create_conn(
                host.strip("[]"), int(port), request_timeout_ms=int(within * 1000), **options
            )
            try:
                await asked.send(MetadataRequest([]))
            finally:
                asked.close()
    except (OSError, KafkaError, TimeoutError) as error:
        return ServerAnswer(server, _problem(error, within), _advice(error, connection))
    return ServerAnswer(server)


def _problem(error: BaseException, within: float) -> str:
    if isinstance(error, TimeoutError) and not error.args:
        return f"no answer within {within:g} s"
    text = str(error)
    return text if isinstance(error, OSError) and text else f"{type(error).__name__} {text}".strip()


def _advice(error: Exception, connection: Connection) -> str:
    if (sentence := what_to_do(error, connection)) is not None:
        return f"{sentence}."
    if isinstance(error, ConnectionRefusedError):
        return "Nothing listens there: check EDDY_BOOTSTRAP_SERVERS, and that the broker runs."
    return (
        f"Check EDDY_BOOTSTRAP_SERVERS, the network, and that the port speaks {connection.security_protocol} "
        "(EDDY_SECURITY_PROTOCOL): a port that wants another protocol hangs up or says nothing."
    )


async def ends(connection: Connection, partitions: Mapping[str, int]) -> dict[tuple[str, int], Ends]:
    """Return the ends of every partition of topics, given with their numbers of partitions."""
    tps = [TopicPartition(topic, number) for topic, count in partitions.items() for number in range(count)]
    if not tps:
        return {}  # a consumer that is stopped before it has done anything ends in a CancelledError
    newest: dict[TopicPartition, int] = {}
    async with AIOKafkaConsumer(
        **connection.client_options(),
        group_id=None,
        enable_auto_commit=False,
        fetch_max_wait_ms=100,
        max_partition_fetch_bytes=1024,
    ) as consumer:
        begin, end = await consumer.beginning_offsets(tps), await consumer.end_offsets(tps)
        # On some brokers the fetch reports the end better than the look-up, and it has the last record.
        unread = {tp for tp in tps if begin[tp] < end[tp]}
        consumer.assign(unread)
        for tp in unread:
            consumer.seek(tp, max(begin[tp], end[tp] - _LOOK_BACK))
        while unread:
            for tp, records in (await consumer.getmany(*unread, timeout_ms=_POLL_MS)).items():
                newest[tp] = records[-1].timestamp
            for tp in list(unread):
                end[tp] = max(end[tp], consumer.highwater(tp) or 0)
                if await consumer.position(tp) >= end[tp]:
                    unread.discard(tp)
                    consumer.pause(tp)
    return {(tp.topic, tp.partition): Ends(begin[tp], end[tp], newest.get(tp)) for tp in tps}


async def broker_setting(connection: Connection, name: str) -> str | None:
    """Return a setting of one of the brokers, empty where it is not set; None where they do not report it."""
    admin = AIOKafkaAdminClient(**connection.client_options())
    await admin.start()
    try:
        cluster = await admin.describe_cluster()
        broker = str(cluster["brokers"][0]["node_id"])
        [answer] = await admin.describe_configs(
            [ConfigResource(ConfigResourceType.BROKER, broker, {name: ""})]
        )
        entries = [entry for _, _, _, _, entries in answer.resources for entry in entries]
    except (KafkaError, OSError, ValueError, LookupError, NotImplementedError):
        return None  # it takes a right of its own, and the embedded broker does not know the request
    finally:
        await admin.close()
    return next((entry[1] or "" for entry in entries if entry[0] == name), None)


async def racks(connection: Connection) -> list[str | None]:
    """Return the zone of each broker, None for one without.

    Raises:
        KafkaError: the brokers do not answer.
    """
    admin = AIOKafkaAdminClient(**connection.client_options())
    await admin.start()
    try:
        return [broker.get("rack") or None for broker in (await admin.describe_cluster())["brokers"]]
    finally:
        await admin.close()


async def group(connection: Connection, name: str, partitions: Iterable[tuple[str, int]]) -> GroupOffsets:
    """Return a consumer group and what it has committed; partitions without a commit are left out.

    Raises:
        InfrastructureError: no broker keeps the offsets of groups, as on a cluster that had no group yet.
        KafkaError: the brokers do not report them.
    """
    admin = AIOKafkaAdminClient(**connection.client_options())
    await admin.start()
    try:
        asked = [TopicPartition(*each) for each in partitions]
        found = await admin.list_consumer_group_offsets(name, partitions=asked)
        committed = {(tp.topic, tp.partition): each.offset for tp, each in found.items() if each.offset >= 0}
        state, members = await _members(admin, name)
        return GroupOffsets(state, members, committed)
    except GroupCoordinatorNotAvailableError as error:
        raise InfrastructureError(
            f"No broker keeps the offsets of {name} yet. A new cluster takes some seconds for it: wait, and "
            "try again. Where that does not help, offsets.topic.replication.factor of the brokers is larger "
            "than their number."
        ) from error
    finally:
        await admin.close()


async def _members(admin: AIOKafkaAdminClient, name: str) -> tuple[str, int | None]:
    try:
        [answer] = await admin.describe_consumer_groups([name])
    except (KafkaError, OSError, ValueError):  # the embedded broker, for one, does not know the request
        return "unknown", None
    code, _, state, _, _, members, *_ = answer.groups[0]
    return ("unknown", None) if code and for_code(code) else (state, len(members))

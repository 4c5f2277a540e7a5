"""Three nodes of Apache Kafka, reached by each worker through a link of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError as ClientError
from aiokafka.protocol.admin import AlterPartitionReassignmentsRequest
from confluent_kafka import ElectionType, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

from tests.integration.apache_kafka import ApacheKafka, new_cluster_id
from tests.integration.worker_process import PATIENCE_SECONDS, until
from tests.network import Link
from tests.ports import own_port

NODES = 3

_PROPERTIES = {
    "default.replication.factor": "3",
    "offsets.topic.replication.factor": "3",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.min.isr": "2",
    "share.coordinator.state.topic.replication.factor": "3",
    "share.coordinator.state.topic.min.isr": "2",
    "inter.broker.listener.name": "PLAINTEXT",
    # Leaders move when the tests say so.
    "auto.leader.rebalance.enable": "false",
    # A node that was killed is missed within seconds; one that only gets no CPU for a while is not.
    "replica.lag.time.max.ms": "10000",
    "broker.session.timeout.ms": "6000",
    "num.recovery.threads.per.data.dir": "1",
    # What is judged in the end is all that was ever written.
    "log.cleaner.min.compaction.lag.ms": "86400000",
    # Three share two cores with the workers.
    "num.network.threads": "2",
    "num.io.threads": "4",
}
_BY_ZONE = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
_JAVA_OPTIONS = ("-Xms128m", "-Xmx384m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")


#: For the controller to carry out one request; a busy node may need several.
_ANSWER_SECONDS = 15.0


class _Listener(NamedTuple):
    name: str
    port: int
    advertised: int


class Node(ApacheKafka):
    """One of the nodes, broker and controller; formatted, not started.

    Args:
        directory: Existing, its own.
        number: From 1.
        voters: All nodes' numbers and controller ports.
        listeners: Where it listens and what it tells clients; the first is for the other nodes.
        cluster_id: The cluster id of all nodes.
        zoned: Whether it is in the zone ``zone-NUMBER``, and lets readers of a zone read there.
    """

    def __init__(
        self,
        directory: Path,
        number: int,
        *,
        voters: Mapping[int, int],
        listeners: Sequence[_Listener],
        cluster_id: str,
        zoned: bool = False,
    ) -> None:
        protocols = ["CONTROLLER", *(listener.name for listener in listeners)]
        super().__init__(
            directory,
            {
                **_PROPERTIES,
                "node.id": str(number),
                "controller.quorum.voters": ",".join(f"{n}@127.0.0.1:{p}" for n, p in voters.items()),
                "listener.security.protocol.map": ",".join(f"{name}:PLAINTEXT" for name in protocols),
                **({"broker.rack": f"zone-{number}", "replica.selector.class": _BY_ZONE} if zoned else {}),
            },
            _JAVA_OPTIONS,
        )
        self.number = number
        self._cluster_id = cluster_id
        self._port = listeners[0].port
        own = [*(f"{name}://127.0.0.1:{port}" for name, port, _ in listeners)]
        self._write_and_format(
            {
                "listeners": ",".join([*own, f"CONTROLLER://127.0.0.1:{voters[number]}"]),
                "advertised.listeners": ",".join(
                    f"{name}://127.0.0.1:{advertised}" for name, _, advertised in listeners
                ),
                "log.dirs": str(directory / "data"),
            }
        )


class KafkaCluster:
    """The nodes, and a link to them for each of so many workers.

    Args:
        directory: Existing; the nodes' data goes there.
        links: How many.
        zoned: Whether each node is in a zone of its own, and lets readers of a zone read there.
    """

    kind = "kafka"

    def __init__(self, directory: Path, *, links: int, zoned: bool = False) -> None:
        ports = [own_port() for _ in range(NODES * (2 + 2 * links))]
        voters = {number: ports.pop() for number in range(1, NODES + 1)}
        cluster_id = new_cluster_id()
        self.nodes: list[Node] = []
        routes: list[list[tuple[int, int]]] = [[] for _ in range(links)]
        for number in voters:
            own = ports.pop()
            listeners = [_Listener("PLAINTEXT", own, own)]
            for link, of_link in enumerate(routes):
                listener = _Listener(f"LINK{link}", ports.pop(), ports.pop())
                listeners.append(listener)
                of_link.append((listener.advertised, listener.port))
            (data := directory / f"node-{number}").mkdir()
            self.nodes.append(
                Node(data, number, voters=voters, listeners=listeners, cluster_id=cluster_id, zoned=zoned)
            )
        self.links = [Link(of_link) for of_link in routes]

    @property
    def bootstrap(self) -> str:
        """The addresses of all nodes, past the links."""
        return ",".join(node.bootstrap for node in self.nodes)

    async def start(self) -> None:
        """Start everything; returns once every node serves."""
        for link in self.links:
            await link.open()
        await asyncio.gather(*(asyncio.to_thread(node.start) for node in self.nodes))

    async def close(self) -> None:
        """Kill the nodes and close the links."""
        for node in self.nodes:
            node.kill()
        for link in self.links:
            await link.close()

    async def in_sync(self) -> None:
        """Wait until every replica of every partition is up to date: one more loss can be borne."""

        async def all_in_sync() -> bool:
            described = await self._ask(AIOKafkaAdminClient.describe_topics)
            return described is not None and all(
                len(partition["isr"]) == NODES for topic in described for partition in topic["partitions"]
            )

        await until(all_in_sync, PATIENCE_SECONDS, "replicas that are all in sync")

    async def move_leaders(self) -> int:
        """Make the next replica in sync the leader of each partition; return how many have moved."""
        orders: dict[tuple[str, int], list[int]] = {}

        async def reassign(admin: AIOKafkaAdminClient) -> bool:
            for topic in await admin.describe_topics():
                for partition in topic["partitions"]:
                    turned = _after(partition["replicas"], partition["leader"], partition["isr"])
                    orders[topic["topic"], partition["partition"]] = turned
            await _reassign(admin, orders)
            return True

        async def reassigned() -> bool:
            return await self._ask(reassign) is True

        await until(reassigned, PATIENCE_SECONDS, "another order of the replicas")
        return await asyncio.to_thread(self._elect, list(orders))

    async def _ask(self, question: Callable[[AIOKafkaAdminClient], Awaitable[Any]]) -> Any:
        """Return the answer of the brokers, None where the one that was asked has just gone away."""
        admin = AIOKafkaAdminClient(bootstrap_servers=self.bootstrap)
        try:
            await admin.start()
            return await question(admin)
        except ClientError:
            return None
        finally:
            await admin.close()

    async def require_replicas(self, topics: Sequence[str], count: int) -> None:
        """Let the brokers refuse what is written to ``topics`` unless so many replicas are in sync."""
        entry = ConfigEntry("min.insync.replicas", str(count), incremental_operation=AlterConfigOpType.SET)
        wanted = [ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry]) for topic in topics]

        def alter() -> bool:
            admin = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 2})
            altered = admin.incremental_alter_configs(wanted, request_timeout=_ANSWER_SECONDS)
            try:
                for each in altered.values():
                    each.result(PATIENCE_SECONDS)
            except KafkaException as error:
                if error.args[0].code() != KafkaError._TIMED_OUT:
                    raise
                return False  # by a busy node, or the controller has just moved
            return True

        async def altered() -> bool:
            return await asyncio.to_thread(alter)

        await until(altered, PATIENCE_SECONDS, "another number of replicas in sync")

    def _elect(self, partitions: list[tuple[str, int]]) -> int:
        admin = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 2})
        wanted = [TopicPartition(topic, partition) for topic, partition in partitions]
        elected = admin.elect_leaders(ElectionType.PREFERRED, wanted).result(PATIENCE_SECONDS)
        failed = {
            partition: error
            for partition, error in elected.items()
            if error is not None and error.code() != KafkaError.ELECTION_NOT_NEEDED
        }
        assert not failed, f"the leaders did not move: {failed}"
        return sum(error is None for error in elected.values())


async def _reassign(admin: AIOKafkaAdminClient, orders: Mapping[tuple[str, int], Sequence[int]]) -> None:
    """Give each partition its replicas in another order: its first is the preferred leader."""
    topics: dict[str, list[tuple[int, list[int], dict[int, bytes]]]] = {}
    for (topic, partition), replicas in orders.items():
        topics.setdefault(topic, []).append((partition, list(replicas), {}))
    request: Any = AlterPartitionReassignmentsRequest(
        timeout_ms=30_000, topics=[(topic, partitions, {}) for topic, partitions in topics.items()], tags={}
    )
    answer: Any = await admin._send_to_controller(request)
    failed = [
        (topic, partition, code)
        for topic, partitions, *_ in answer.responses
        for partition, code, *_ in partitions
        if code
    ]
    assert not answer.error_code, answer
    assert not failed, f"the replicas keep their order: {failed}"


def _after(replicas: Sequence[int], leader: int, in_sync: Collection[int]) -> list[int]:
    """Return the replicas in a turned order, the one after the leader first, those in sync before others."""
    at = replicas.index(leader) + 1 if leader in replicas else 0
    return sorted([*replicas[at:], *replicas[:at]], key=lambda replica: replica not in in_sync)

"""Three nodes of Apache Kafka, reached by each worker through a link of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.protocol.admin import AlterPartitionReassignmentsRequest
from confluent_kafka import ElectionType, KafkaError, TopicPartition
from confluent_kafka.admin import AdminClient

from streams.broker.port import free_port
from tests.faults.network import Link
from tests.integration.apache_kafka import ApacheKafka, new_cluster_id
from tests.integration.worker_process import PATIENCE_SECONDS, until

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
    # A follower that was killed is missed, and taken back, within seconds.
    "replica.lag.time.max.ms": "5000",
    "num.recovery.threads.per.data.dir": "1",
    # Three share two cores with the workers.
    "num.network.threads": "2",
    "num.io.threads": "4",
}
_JAVA_OPTIONS = ("-Xms128m", "-Xmx384m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")


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
        cluster_id: Of all nodes.
    """

    def __init__(
        self,
        directory: Path,
        number: int,
        *,
        voters: Mapping[int, int],
        listeners: Sequence[_Listener],
        cluster_id: str,
    ) -> None:
        protocols = ["CONTROLLER", *(listener.name for listener in listeners)]
        super().__init__(
            directory,
            {
                **_PROPERTIES,
                "node.id": str(number),
                "controller.quorum.voters": ",".join(f"{n}@127.0.0.1:{p}" for n, p in voters.items()),
                "listener.security.protocol.map": ",".join(f"{name}:PLAINTEXT" for name in protocols),
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
    """

    kind = "kafka"

    def __init__(self, directory: Path, *, links: int) -> None:
        ports = _ports(NODES * (2 + 2 * links))
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
            self.nodes.append(Node(data, number, voters=voters, listeners=listeners, cluster_id=cluster_id))
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
        admin = AIOKafkaAdminClient(bootstrap_servers=self.bootstrap)
        await admin.start()
        try:

            async def all_in_sync() -> bool:
                described = await admin.describe_topics()
                return all(
                    len(partition["isr"]) == NODES for topic in described for partition in topic["partitions"]
                )

            await until(all_in_sync, PATIENCE_SECONDS, "replicas that are all in sync")
        finally:
            await admin.close()

    async def move_leaders(self) -> int:
        """Make the next replica of each partition its leader; return how many partitions have moved."""
        admin = AIOKafkaAdminClient(bootstrap_servers=self.bootstrap)
        await admin.start()
        try:
            described = await admin.describe_topics()
            orders = {
                (topic["topic"], partition["partition"]): _after(partition["replicas"], partition["leader"])
                for topic in described
                for partition in topic["partitions"]
            }
            await _reassign(admin, orders)
        finally:
            await admin.close()
        return await asyncio.to_thread(self._elect, list(orders))

    def _elect(self, partitions: list[tuple[str, int]]) -> int:
        admin = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 3})
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


def _after(replicas: Sequence[int], leader: int) -> list[int]:
    """Return the replicas in a turned order, the one after the leader first."""
    at = replicas.index(leader) + 1 if leader in replicas else 0
    return [*replicas[at:], *replicas[:at]]


def _ports(count: int) -> list[int]:
    found: set[int] = set()
    while len(found) < count:
        found.add(free_port())
    return list(found)

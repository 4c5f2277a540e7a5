"""A real Apache Kafka broker (KRaft, one node) for the tests that promise something."""

import base64
import subprocess
import tempfile
import time
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

from streams.core.errors import ConfigurationError, InfrastructureError
from streams.kafka.embedded.child import Child
from streams.kafka.embedded.embedded import serves
from tests.integration.kafka_jars import kafka_jars
from tests.integration.maven import program
from tests.integration.secured_listener import SecuredListener
from tests.ports import own_port

START_SECONDS = 180.0
STOP_SECONDS = 30.0
_POLL_SECONDS = 0.05
_PORTS_TO_TRY = 3
_MAX_RECORD_BYTES = 16 * 1024 * 1024
# The quick compiler alone: a test's broker lives for seconds and shares two cores with what it is there for.
_JAVA_OPTIONS = ("-Xms256m", "-Xmx512m", "-XX:TieredStopAtLevel=1")

_PROPERTIES = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
    "auto.create.topics.enable": "false",
    # One node has nobody to replicate to.
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    # The default of 50 partitions each is half of the time a first group or transaction takes to start.
    "offsets.topic.num.partitions": "4",
    "transaction.state.log.num.partitions": "4",
    # Tests have few members, want them settled at once, and kill some to see the others take over.
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "1000",
    # A killed broker may come back only when the controller has missed it this long. This is the default:
    # with less, one that gets no CPU for a while is fenced.
    "broker.session.timeout.ms": "9000",
    "broker.heartbeat.interval.ms": "500",
    "message.max.bytes": str(_MAX_RECORD_BYTES),
    "replica.fetch.max.bytes": str(_MAX_RECORD_BYTES),
    # The default of 128 MiB would be half of the heap.
    "log.cleaner.dedupe.buffer.size": str(16 * 1024 * 1024),
}


class ApacheKafka:
    """One node that is broker and controller, with its data under `directory`.

    `stop` and `kill` leave the data; `start` afterwards comes back on the same port with everything that was
    acknowledged. The process dies with this one.

    Args:
        directory: an existing directory for configuration and data.
        properties: broker properties beside or instead of the usual ones.
        java_options: options of its virtual machine; to measure throughput, leave both compilers on.
        secured: adds a listener with TLS and a login, beside the plain one.
        advertised_port: what clients of the plain one are told to connect to; its own by default.
    """

    kind = "kafka"

    def __init__(
        self,
        directory: Path,
        properties: Mapping[str, str] | None = None,
        java_options: Sequence[str] = _JAVA_OPTIONS,
        secured: SecuredListener | None = None,
        advertised_port: int | None = None,
    ) -> None:
        self._directory = directory
        self._properties = {**_PROPERTIES, **(properties or {})}
        self._java_options = (*java_options, *(secured.java_options if secured is not None else ()))
        self._class_path = f"{kafka_jars()}/*"
        self._cluster_id = new_cluster_id()
        self._child: Child | None = None
        self._port: int | None = None
        self._secured = secured
        self._advertised_port = advertised_port
        self._secured_port = own_port()

    @property
    def secured_bootstrap(self) -> str:
        """The address of the listener with TLS and a login."""
        return f"localhost:{self._secured_port}"

    @property
    def bootstrap(self) -> str:
        """The address for `bootstrap.servers`; the same after every restart."""
        if self._port is None:
            raise ConfigurationError("This Kafka was never started.")
        return f"127.0.0.1:{self._port}"

    def start(self) -> None:
        """Start, or start again on the same data and port; return once clients are served."""
        assert self._child is None, "it is running already"
        if self._port is not None:
            failure = self._run(self._port)
        else:
            for _ in range(_PORTS_TO_TRY):
                port = own_port()
                self._format(port)
                failure = self._run(port)
                if failure is None or "Address already in use" not in failure:
                    break
        if failure is not None:
            raise InfrastructureError(f"Apache Kafka gave no answer within {START_SECONDS:g} s:\n{failure}")

    def stop(self) -> None:
        """Shut down in order (SIGTERM), by force after a while. Stopping a stopped one does nothing."""
        if self._child is not None:
            self._child.signal("TERM")
            self._child.ended(within=STOP_SECONDS)
            self.kill()

    def kill(self) -> None:
        """Kill it at once (SIGKILL), as a power cut would but for what the kernel still writes."""
        if self._child is not None:
            self._child.kill()
            self._child = None

    def signal(self, name: str) -> None:
        """Send a signal, named as `kill -s` names it: `STOP` makes it hang, `CONT` lets it go on."""
        assert self._child is not None, "it is not running"
        self._child.signal(name)

    def __enter__(self) -> Self:
        """Start it."""
        self.start()
        return self

    def __exit__(self, *_exc: object) -> None:
        """Kill it: nobody will read its data."""
        self.kill()

    def _run(self, port: int) -> str | None:
        """Start the process; return None once it serves, else what it said."""
        child = Child(
            [*self._java("kafka.Kafka"), str(self._configuration)],
            scratch=Path(tempfile.mkdtemp(prefix="eddy-kafka-")),
        )
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline and not child.ended(within=_POLL_SECONDS):
            if serves(port, self._cluster_id):
                self._child, self._port = child, port
                return None
        child.kill()
        return child.said()

    def _format(self, port: int) -> None:
        """Write the configuration and an empty log directory; both name the ports."""
        controller = own_port()
        addresses = {
            "controller.quorum.voters": f"1@127.0.0.1:{controller}",
            "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}",
            "advertised.listeners": f"PLAINTEXT://127.0.0.1:{self._advertised_port or port}",
            "log.dirs": str(self._directory / f"data-{port}"),
        }
        self._write_and_format(addresses)

    def _write_and_format(self, addresses: Mapping[str, str], *options: str) -> None:
        properties = {**self._properties, **addresses}
        if self._secured is not None:
            properties |= self._secured.properties
            properties["listeners"] += f",SASL_SSL://127.0.0.1:{self._secured_port}"
            properties["advertised.listeners"] += f",SASL_SSL://{self.secured_bootstrap}"
            properties["listener.security.protocol.map"] += ",SASL_SSL:SASL_SSL"
            options = (*options, "--add-scram", self._secured.scram)
        lines = [f"{name}={value}\n" for name, value in properties.items()]
        self._configuration.write_text("".join(lines))
        tool = self._java("kafka.tools.StorageTool")
        arguments = ["format", *options, "-t", self._cluster_id, "-c", str(self._configuration)]
        run = subprocess.run(
            [*tool, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )
        if run.returncode != 0:
            raise InfrastructureError(
                f"Apache Kafka's storage could not be formatted:\n{run.stdout}{run.stderr}"
            )

    @property
    def _configuration(self) -> Path:
        return self._directory / "server.properties"

    def _java(self, main: str) -> list[str]:
        quiet = "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"
        return [program("java"), *self._java_options, quiet, "-cp", self._class_path, main]


def new_cluster_id() -> str:
    """Return a random id as Kafka writes them: 16 bytes in URL-safe base64, never like an option."""
    while True:
        text = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        if not text.startswith("-"):
            return text

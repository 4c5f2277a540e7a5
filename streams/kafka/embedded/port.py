"""Free TCP ports on the loopback interface."""

from __future__ import annotations

import random
import socket

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

"""Ports for brokers and links that no other test is given meanwhile, also while nobody listens on them.

A broker that is killed has to come back to its port, and three nodes are told all of theirs before the first
one starts. A port that is only free may be taken by then.
"""

from __future__ import annotations

import os
import random
import socket

#: Below those that `streams.kafka.embedded.embedded` offers. Each process of a test run has its own.
_FIRST, _EACH, _PROCESSES = 10_000, 1_250, 8

_random = random.SystemRandom()
_given: set[int] = set()


def own_port() -> int:
    """Return a loopback port that is free, and that this run of the tests gives to nobody else."""
    process = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % _PROCESSES
    own = range(_FIRST + process * _EACH, _FIRST + (process + 1) * _EACH)
    while left := [port for port in own if port not in _given]:
        port = _random.choice(left)
        _given.add(port)
        try:
            socket.create_server(("127.0.0.1", port)).close()
        except OSError:
            continue
        return port
    raise RuntimeError(f"All of {_EACH} ports were given away")

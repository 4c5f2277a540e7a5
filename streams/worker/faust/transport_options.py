"""Options of the transport that Faust's settings do not reach."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class TransportOptions:
    """What Faust's settings do not reach."""

    run_max_records: int = 500
    run_max_bytes: int = 1 << 20
    fetch_max_wait_ms: int = 50
    """How long the broker may hold a fetch that finds nothing. Faust's own 1,500 ms costs 400 ms of "
    "latency."""
    commits_in_transactions: bool = False
    """Whether epochs commit the offsets themselves."""
    paced: Mapping[str, float] = field(default_factory=dict)
    """Topics that are read only so often, with the seconds in between."""
    producer: Mapping[str, Any] = field(default_factory=dict)
    """Further keyword arguments of aiokafka's producer."""
    consumer: Mapping[str, Any] = field(default_factory=dict)
    """Further keyword arguments of aiokafka's consumer."""

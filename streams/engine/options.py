"""What the engine is built with, in one value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from streams.engine.connection import Connection
from streams.engine.store import StoreOptions
from streams.engine.transport import TransportOptions

#: Name of the session table; part of the changelog topic's name.
SESSIONS = "sessions"


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """Names, addresses and sizes."""

    application_id: str
    connection: Connection
    directory: Path
    """Of this worker's local state."""
    transport: TransportOptions
    store: StoreOptions
    cached_sessions: int
    """Decoded sessions kept in memory at most."""
    lane_max_runs: int
    faust: Mapping[str, Any]
    """Settings of Faust, as `faust.App` takes them."""


def changelog_topic(application_id: str) -> str:
    """Return the name Faust gives the changelog of the session table.

    >>> changelog_topic("eddy")
    'eddy-sessions-changelog'
    """
    return f"{application_id}-{SESSIONS}-changelog"

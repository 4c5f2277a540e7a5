"""One process at a time sends to a destination: two would send everything twice."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path

from streams.core.errors import ConfigurationError


@contextmanager
def alone(state: Path, destination: str) -> Iterator[None]:
    """Be the only one that sends to a destination. The end of the process ends it, however it comes.

    Raises:
        ConfigurationError: another process does, or the folder cannot be written.
    """
    name = blake2b(destination.encode("utf-8", "replace"), digest_size=8).hexdigest()
    path = state.with_name(f"{state.name}.{name}.lock")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise ConfigurationError(
            f"{path}: {error}. Give a folder that can be written with --state"
        ) from error
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(file)
        raise ConfigurationError(
            f"Another `eddy ingest` sends to {destination}. Stop it, or give another --state"
        ) from error
    try:
        yield
    finally:
        os.close(file)

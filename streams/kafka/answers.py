"""What it means that brokers do not answer a question, in words that say what to do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from aiokafka.errors import KafkaError

from streams.core.errors import InfrastructureError


@contextmanager
def answered(what: str) -> Iterator[None]:
    """Let a block that asks brokers fail with an error of Eddy's.

    Args:
        what: What they are asked for.

    Raises:
        InfrastructureError: they do not answer, or refuse.
    """
    try:
        yield
    except (KafkaError, OSError) as error:
        raise InfrastructureError(
            f"The brokers do not tell {what}: {error!r}. Check that they run, and what this user may read."
        ) from error

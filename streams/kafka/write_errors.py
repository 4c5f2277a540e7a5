"""What brokers say of records that they do not take, in words that say what to do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from aiokafka.errors import KafkaError, MessageSizeTooLargeError, RecordTooLargeError

from streams.core.errors import ConfigurationError, InfrastructureError


@contextmanager
def explained(topic: str) -> Iterator[None]:
    """Let a block that writes to a topic fail with errors of Eddy's.

    Raises:
        ConfigurationError: a record is larger than the topic allows.
        InfrastructureError: the brokers do not take the records now. Some may be there.
    """
    try:
        yield
    except (MessageSizeTooLargeError, RecordTooLargeError) as error:
        raise ConfigurationError(
            f"{topic} takes no record as large as one of these ({error}). Raise max.message.bytes."
        ) from error
    except KafkaError as error:
        raise InfrastructureError(
            f"The brokers refused the records for {topic}: {error!r}. Check the brokers, and whether "
            "this user may write there."
        ) from error

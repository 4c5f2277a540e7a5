"""Records on their way to a topic: keyed by their session, each with a word on where it comes from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from streams.core.domain.outgoing import Headers, Outgoing
from streams.core.entry import session_key
from streams.formats.ingest.sink import SentRecord, line
from streams.kafka.record_sender import RecordSender

SOURCE_HEADER: Final = "eddy-source"
_TOGETHER: Final = 500


class TopicSink:
    """Sends each record as JSON.

    Args:
        sender: Sends the records to their topic.
        now_ms: The time that records get on the topic.
    """

    def __init__(self, sender: RecordSender, now_ms: Callable[[], int]) -> None:
        self._sender, self._now_ms = sender, now_ms

    async def write(self, records: Sequence[SentRecord]) -> None:
        """Send them, a few hundred at a time.

        Raises:
            InfrastructureError: the brokers do not take them now.
            ConfigurationError: they never do.
        """
        for begin in range(0, len(records), _TOGETHER):
            some = records[begin : begin + _TOGETHER]
            await self._sender.send([_outgoing(each, self._now_ms()) for each in some])

    async def close(self) -> None:
        """Close the connection."""
        await self._sender.close()


def _outgoing(record: SentRecord, at: int) -> Outgoing:
    key = session_key(record.value)
    headers: Headers = [(SOURCE_HEADER, record.source.encode())]
    return Outgoing(None if key is None else key.encode(), line(record.value), at, headers)

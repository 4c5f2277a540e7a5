"""Alerts as CloudEvents 1.0, in the binary mode of the Kafka binding: the attributes are headers.

Whatever reads CloudEvents can take alerts by these headers; the value stays as it is for everybody else.
The subject of an alert is the key of its record, so there is no ``ce_subject``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from schemas.bundled import latest
from streams.core.domain.record import Headers
from streams.core.domain.text.figures import rfc3339
from streams.core.domain.topic import Topic


class CloudEvents:
    """Makes the headers of the events of one topic.

    Args:
        source: The job and the topic, as a path; the partition comes behind.
        schema_version: The version of the topic's schema, a part of the type.
        headers: What every record of the topic has.
    """

    def __init__(self, source: str, schema_version: int, headers: Headers) -> None:
        self._source, self._version = source, schema_version
        self._constant: Headers = [*headers, ("ce_specversion", b"1.0")]

    @classmethod
    def of_session_alerts(cls, group: str, topic_prefix: str, headers: Headers) -> CloudEvents:
        """Return what makes the headers of the alerts of a job."""
        version = latest(f"{Topic.SESSION_ALERTS}-value").version
        return cls(f"/eddy/{group}/{topic_prefix}{Topic.SESSION_ALERTS}", version, headers)

    def headers(self, fields: Mapping[str, Any]) -> Headers:
        """Return the headers of an event; the same event has the same.

        >>> alert = {
        ...     "id": "e-1",
        ...     "event_type": "loop_episode",
        ...     "partition": 3,
        ...     "timestamp": 1_700_000_000_120,
        ... }
        >>> for name, value in CloudEvents("/eddy/eddy/session-alerts", 2, []).headers(alert):
        ...     print(name, value.decode())
        ce_specversion 1.0
        ce_id e-1
        ce_source /eddy/eddy/session-alerts/3
        ce_type io.eddy.loop_episode.v2
        ce_time 2023-11-14T22:13:20.120Z
        """
        return [
            *self._constant,
            ("ce_id", fields["id"].encode()),
            ("ce_source", f"{self._source}/{fields['partition']}".encode()),
            ("ce_type", f"io.eddy.{fields['event_type']}.v{self._version}".encode()),
            ("ce_time", rfc3339(fields["timestamp"]).encode()),
        ]

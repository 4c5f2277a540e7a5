"""What arrives: one decoded message of the input topic, with its coordinates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple


class Record(NamedTuple):
    """A decoded DecisionLog that is not checked yet.

    ``timestamp`` is that of the Kafka record in ms, None where there is none (files). ``key`` is the
    Kafka key as text. ``value`` may carry unknown fields and wrong types: `streams.core.pipeline.admit`
    checks it.
    """

    partition: int
    offset: int
    key: str | None
    timestamp: int | None
    value: Mapping[str, Any]

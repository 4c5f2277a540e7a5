"""Feeds adapters in tests."""

from typing import Any

import orjson

from streams.formats.adapters.adapter import Format, Problem


def read(given: Format, *units: Any, name: str = "run.json") -> list[Any]:
    """Return what units give: bytes as they are, other values as JSON."""
    adapter = given.start(name)
    encoded = [unit if isinstance(unit, bytes) else orjson.dumps(unit) for unit in units]
    return [*(each for unit in encoded for each in adapter.feed(unit)), *adapter.close()]


def logs(given: Format, *units: Any, name: str = "run.json") -> list[Any]:
    """Return the records that units give."""
    return [each.value for each in read(given, *units, name=name) if not isinstance(each, Problem)]


def reasons(given: Format, *units: Any, name: str = "run.json") -> list[str]:
    """Return the reasons of the problems that units give."""
    return [each.reason for each in read(given, *units, name=name) if isinstance(each, Problem)]


def json_lines(*values: Any) -> bytes:
    """Return values as JSON lines."""
    return b"\n".join(orjson.dumps(each) for each in values) + b"\n"


def event_ids(found: list[Any]) -> list[str]:
    return [each["event_id"] for each in found]

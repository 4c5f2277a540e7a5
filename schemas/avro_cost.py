"""What the values of a schema cost to read, before any data is there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from schemas.avro_bytes import RECORD_COST

MOST_LEVELS: Final = 100
"""Types inside one another. Each level is a call while data is read, and Python's stack has an end."""


class UnreadableSchemaError(ValueError):
    """Data of the schema cannot be read, or not in bounded time and memory; the message says why."""


class Cost(NamedTuple):
    """The cost of one value of a type; lists and maps count without their items.

    Attributes:
        least: Where every union inside is a value without a value of its own.
        most: Where every union inside is its costliest branch.
        takes_bytes: Whether its data has a byte at least.
        levels: How many types are inside one another.
    """

    least: int = 1
    most: int = 1
    takes_bytes: bool = True
    levels: int = 1


_ANY = Cost()
_NOTHING = Cost(takes_bytes=False)


def cost(schema: Any, named: Mapping[str, Cost]) -> Cost:
    """Return what a value costs, given the cost of each named type that the schema names.

    >>> cost(["null", "string"], {})
    Cost(least=1, most=2, takes_bytes=True, levels=2)

    Raises:
        UnreadableSchemaError: more than `MOST_LEVELS` types are inside one another.
    """
    match schema:
        case "null" | {"type": "null"}:
            return _NOTHING
        case str():
            return named.get(schema, _ANY)
        case list():
            branches = [cost(branch, named) for branch in schema]
            return _around(branches)._replace(most=1 + max((branch.most for branch in branches), default=0))
        case {"type": "record", "name": name} if name in named:
            return named[name]
        case {"type": "record", "fields": fields}:
            return _record([cost(field["type"], named) for field in fields])
        case {"type": "array", "items": inner} | {"type": "map", "values": inner}:
            return _around([cost(inner, named)])
        case {"type": "fixed", "size": size}:
            return _ANY if size else _NOTHING
        case {"type": str(inner)}:
            return named.get(inner, _ANY)
        case {"type": inner}:
            return cost(inner, named)
        case _:
            return _ANY


def _record(fields: list[Cost]) -> Cost:
    return _around(fields)._replace(
        least=1 + RECORD_COST + sum(field.least for field in fields),
        most=1 + RECORD_COST + sum(field.most for field in fields),
        takes_bytes=any(field.takes_bytes for field in fields),
    )


def _around(inner: Iterable[Cost]) -> Cost:
    levels = 1 + max((each.levels for each in inner), default=0)
    if levels > MOST_LEVELS:
        raise UnreadableSchemaError(f"more than {MOST_LEVELS} of its types are inside one another")
    return Cost(levels=levels)

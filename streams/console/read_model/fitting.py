"""Whether a row fits its table: others than the job write to the topics of commands, acks and actions."""

from __future__ import annotations

from typing import Final

from streams.console.read_model.rows import Row
from streams.console.read_model.tables import TABLES

_LARGEST: Final = 2**63

_COLUMNS: Final = {table.row: tuple(table.columns()) for table in TABLES}


def check(row: Row) -> None:
    """Raise a TypeError if a value is of another type than its column, or a number larger than one holds."""
    values: tuple[object, ...] = row
    for column, value in zip(_COLUMNS[type(row)], values, strict=True):
        kind = type(value)
        if isinstance(value, int) and not -_LARGEST <= value < _LARGEST:
            raise TypeError(f"{column.name} is too large")
        is_missing = value is None and column.nullable
        if kind is not column.type and not is_missing and not (kind is int and column.type is float):
            raise TypeError(f"{column.name} is no {column.type.__name__}")

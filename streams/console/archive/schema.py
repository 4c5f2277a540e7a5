"""The tables of the read model as SQLite knows them."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Final

from streams.console.read_model.table import Column, RowTable
from streams.console.read_model.tables import TABLES

_TYPES: Final = {int: "INTEGER", float: "REAL", str: "TEXT", bytes: "BLOB"}

#: Raise it if rows mean something else than before in the same columns.
_MEANING: Final = 1


def quoted(names: Iterable[str]) -> str:
    """Return names as SQLite takes them: some are words of SQL.

    >>> quoted(["by", "offset"])
    '"by", "offset"'
    """
    return ", ".join(f'"{name}"' for name in names)


def statements() -> Iterator[str]:
    """Yield what makes an empty archive."""
    for table in TABLES:
        columns = ", ".join(map(_column, table.columns()))
        yield f'CREATE TABLE "{table.name}" ({columns}, PRIMARY KEY ({quoted(table.key)}))'
        for number, index in enumerate(table.indexes):
            where = f' WHERE "{index.where}"' if index.where else ""
            yield f'CREATE INDEX "{table.name}_{number}" ON "{table.name}" ({quoted(index.columns)}){where}'


def version() -> int:
    """Return a number that changes with the tables; SQLite keeps it as `user_version`."""
    return zlib.crc32("\n".join((str(_MEANING), *statements())).encode()) & 0x7FFF_FFFF


@cache
def upsert(table: RowTable) -> str:
    """Return the statement that writes a row, whether there is one with its key or not.

    >>> from streams.console.read_model.tables import DIFFERENCE
    >>> upsert(DIFFERENCE).partition("ON")[2]
    ' CONFLICT DO UPDATE SET "occurrences"=excluded."occurrences", "offsets"=excluded."offsets"'
    """
    names = [column.name for column in table.columns()]
    rest = ", ".join(f'"{name}"=excluded."{name}"' for name in names if name not in table.key)
    marks = ", ".join("?" * len(names))
    into = f'INSERT INTO "{table.name}" ({quoted(names)}) VALUES ({marks})'  # noqa: S608 - names of ours
    return f"{into} ON CONFLICT DO UPDATE SET {rest}"


@cache
def selection(table: RowTable) -> str:
    """Return the beginning of a statement that reads whole rows."""
    return f'SELECT {quoted(column.name for column in table.columns())} FROM "{table.name}"'  # noqa: S608


def _column(column: Column) -> str:
    return f'"{column.name}" {_TYPES[column.type]}{"" if column.nullable else " NOT NULL"}'

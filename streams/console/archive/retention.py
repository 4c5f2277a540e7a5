"""How long each row is kept."""

from __future__ import annotations

import sqlite3
from typing import Final, NamedTuple

from streams.console.read_model import tables
from streams.console.read_model.table import Table

_DAY_MS: Final = 86_400_000

#: Rows that one transaction deletes at most of a table: others wait for the writer meanwhile.
_AT_ONCE: Final = 5_000


class Age(NamedTuple):
    """What tells how old a row is, and the days it is kept; None for as long as history goes."""

    table: Table
    column: str
    days: int | None = None


#: Tables that are not here are kept whole: they are small, or the newest row of each key counts for ever.
AGES: Final = (
    Age(tables.SESSION, "last_ts"),
    Age(tables.EPISODE, "last_ts"),
    Age(tables.FINDING, "ts"),
    Age(tables.COMMAND, "ts"),
    Age(tables.ACK, "at"),
    Age(tables.GUARD, "seen"),
    Age(tables.LETTER, "ts"),
    Age(tables.SHADOW, "ts"),
    Age(tables.ACTION, "at", 90),
    Age(tables.TRIAGE, "at", 90),
    Age(tables.HEALTH, "bucket", 30),
    Age(tables.SAMPLE, "bucket", 2),
)


def remove_old(connection: sqlite3.Connection, now: int, history_days: int) -> int:
    """Delete some rows that are too old; return how many, 0 when none is left.

    Args:
        connection: In a transaction.
        now: Milliseconds since 1970.
        history_days: How far history goes back; at least a day is kept.
    """
    removed = 0
    for table, column, days in AGES:
        before = now - (days or max(1, history_days)) * _DAY_MS
        removed += connection.execute(
            f'DELETE FROM "{table.name}" WHERE rowid IN '  # noqa: S608 - names of ours
            f'(SELECT rowid FROM "{table.name}" WHERE "{column}" < ? LIMIT {_AT_ONCE})',
            (before,),
        ).rowcount
    return removed

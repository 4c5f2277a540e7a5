"""Which errors of SQLite mean that the file is of no use, and which may pass."""

from __future__ import annotations

import sqlite3
from typing import Final

#: What may pass: a full disk, one that fails, a lock, too little memory.
_PASSING: Final = frozenset(
    {
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_NOMEM,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_CANTOPEN,
    }
)
_DAMAGED: Final = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})


def is_damage(error: sqlite3.DatabaseError) -> bool:
    """Tell whether an error means that the file is of no use any more, or is gone."""
    code = _code(error)
    return code & 0xFF in _DAMAGED or code == sqlite3.SQLITE_READONLY_DBMOVED


def may_pass(error: sqlite3.DatabaseError) -> bool:
    """Tell whether an error is that of a disk, a lock or the memory, and says nothing of the file."""
    return _code(error) & 0xFF in _PASSING and not is_damage(error)


def _code(error: sqlite3.DatabaseError) -> int:
    # Errors of the module itself have no code.
    code: int = getattr(error, "sqlite_errorcode", 0)
    return code

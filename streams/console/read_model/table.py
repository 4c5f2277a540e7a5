"""What a table of the read model is: the type of its rows, its key and its indexes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, get_args, get_type_hints

Value = int | float | str | bytes | None


class Column(NamedTuple):
    """A column: its name, the type of its values, and whether they may be missing."""

    name: str
    type: type[int | float | str | bytes]
    nullable: bool


class Index(NamedTuple):
    """An index of a table; ``where`` limits it to the rows in which that column is not 0."""

    columns: tuple[str, ...]
    where: str | None = None


@dataclass(frozen=True, slots=True)
class RowTable:
    """A table: its name, the type of its rows, the columns of its primary key, and its indexes."""

    name: str
    row: type[tuple[Value, ...]]
    key: tuple[str, ...]
    indexes: tuple[Index, ...] = ()

    def columns(self) -> Iterator[Column]:
        """Yield the columns in the order of the row.

        >>> from streams.console.read_model.tables import SESSION
        >>> next(SESSION.columns())
        Column(name='session_id', type=<class 'str'>, nullable=False)
        """
        for name, hint in get_type_hints(self.row).items():
            kinds = get_args(hint) or (hint,)
            yield Column(name, kinds[0], type(None) in kinds)

    def key_of(self, row: tuple[Value, ...]) -> tuple[Value, ...]:
        """Return the primary key of a row.

        >>> from streams.console.read_model.rows import GuardRow
        >>> from streams.console.read_model.tables import GUARD
        >>> GUARD.key_of(GuardRow("s-1", "g-1", 0, None, None, 0, 17))
        ('s-1', 'g-1')
        """
        return tuple(getattr(row, name) for name in self.key)

"""What a page shows: rows, parts that change, pages of a list, and the steps of a session."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from heapq import nsmallest
from typing import Any, Final, NamedTuple, TypeVar

from streams.console.inbox.query import cursor_of, position_of


class RecordStep(NamedTuple):
    """An enriched record.

    Attributes:
        partition, offset: the place of the record on `decision-logs`; in files, its number.
        enriched_offset: the place of the enriched record in the same partition; None where there is none.
        record: the enriched record, with its block `eddy`.
        number: which one of its session it is, from 1, as far as that is known. Unlike `eddy.step` it counts
            records that are not scored, too.
    """

    partition: int
    offset: int
    enriched_offset: int | None
    record: Mapping[str, Any]
    number: int = 0


#: Rows of a page.
ROWS: Final = 100

_Row = TypeVar("_Row")


class Paged(NamedTuple):
    """How many rows match, and the cursor of the next page, None after the last one."""

    matching: int
    next: str | None


def newest_first(
    rows: Iterable[_Row], at: Callable[[_Row], int], name: Callable[[_Row], str], cursor: str
) -> tuple[list[_Row], Paged]:
    """Return the rows of a page.

    Args:
        rows: All rows that match, in any order.
        at: Returns the time of a row.
        name: Returns what no other row has: rows of one time keep their order.
        cursor: That of the page before, empty for the first page.

    Raises:
        ConfigurationError: the cursor is none.

    >>> shown, found = newest_first(range(250), lambda row: row, str, "")
    >>> shown[0], shown[-1], found.matching
    (249, 150, 250)
    >>> newest_first(range(250), lambda row: row, str, found.next)[0][0]
    149
    """
    placed = [((0, -float(at(row)), name(row)), row) for row in rows]
    matching, after = len(placed), position_of(cursor)
    if after is not None:
        placed = [each for each in placed if each[0] > after]
    first = nsmallest(ROWS + 1, placed, key=lambda each: each[0])
    following = cursor_of(first[ROWS - 1][0]) if len(first) > ROWS else None
    return [row for _, row in first[:ROWS]], Paged(matching, following)


@dataclass(frozen=True, slots=True)
class PageView:
    """The changing part of a page.

    Attributes:
        order: keys of the rows, from the top.
        rows: HTML of each row, by its key.
        parts: HTML of other elements, by their ids.
    """

    order: tuple[str, ...] = ()
    rows: Mapping[str, str] = field(default_factory=dict)
    parts: Mapping[str, str] = field(default_factory=dict)

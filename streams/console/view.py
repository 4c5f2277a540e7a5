"""What a page shows that can change: rows in an order, and parts with names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


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

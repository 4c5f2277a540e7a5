"""The tables of the read model: which columns identify a row, and which are looked up."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, get_args, get_type_hints

from streams.console.read_model.rows import (
    AckRow,
    ActionRow,
    CommandRow,
    DifferenceRow,
    EpisodeRow,
    FindingRow,
    ForgottenRow,
    GuardRow,
    HealthRow,
    LetterRow,
    ProfileRow,
    RedrivenRow,
    SessionRow,
    ShadowRow,
    TriageRow,
    VersionRow,
    WatermarkRow,
)

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


WATERMARK = RowTable("watermark", WatermarkRow, ("topic", "partition"))
SESSION = RowTable(
    "session",
    SessionRow,
    ("session_id",),
    (Index(("last_ts",)), Index(("agent_id", "last_ts")), Index(("trace_id",))),
)
EPISODE = RowTable(
    "episode",
    EpisodeRow,
    ("episode_id",),
    (Index(("level", "tokens"), "open"), Index(("session_id",)), Index(("cause_key", "last_ts"))),
)
FINDING = RowTable("finding", FindingRow, ("id",), (Index(("session_id", "ts")),))
COMMAND = RowTable("command", CommandRow, ("command_id",), (Index(("session_id", "ts")), Index(("ts",))))
ACK = RowTable("ack", AckRow, ("id",), (Index(("command_id",)), Index(("session_id",))))
GUARD = RowTable("guard", GuardRow, ("session_id", "guard_id"))
TRIAGE = RowTable("triage", TriageRow, ("episode_id",))
ACTION = RowTable("action", ActionRow, ("id",), (Index(("at",)), Index(("kind", "at")), Index(("target",))))
LETTER = RowTable(
    "letter",
    LetterRow,
    ("partition", "offset"),
    (Index(("ts",)), Index(("reason", "ts")), Index(("session_id", "ts")), Index(("source",))),
)
REDRIVEN = RowTable("redriven", RedrivenRow, ("source",))
HEALTH = RowTable("health", HealthRow, ("scope", "name", "bucket"))
PROFILE = RowTable("profile", ProfileRow, ("task_type",))
DIFFERENCE = RowTable("difference", DifferenceRow, ("shadow_version", "field"))
SHADOW = RowTable("shadow", ShadowRow, ("id",), (Index(("shadow_version", "ts")),))
VERSION = RowTable("version", VersionRow, ("topic", "offset"))
FORGOTTEN = RowTable("forgotten", ForgottenRow, ("digest", "partition"))

#: `WATERMARK` belongs to the archive; the fold fills the others.
TABLES = (
    WATERMARK,
    SESSION,
    EPISODE,
    FINDING,
    COMMAND,
    ACK,
    GUARD,
    TRIAGE,
    ACTION,
    LETTER,
    REDRIVEN,
    HEALTH,
    PROFILE,
    DIFFERENCE,
    SHADOW,
    VERSION,
    FORGOTTEN,
)

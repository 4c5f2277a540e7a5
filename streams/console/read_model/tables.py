"""The tables of the read model: which columns identify a row, and which are looked up."""

from __future__ import annotations

from streams.console.read_model.rows import (
    AckRow,
    ActionRow,
    CommandRow,
    DifferenceRow,
    EpisodeRow,
    FindingRow,
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
from streams.console.read_model.table import Index, RowTable

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
ACTION = RowTable("action", ActionRow, ("id",), (Index(("at",)), Index(("kind", "at"))))
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
)

"""Reads samples of agents and tools: what is in memory, and older ones from the archive."""

from __future__ import annotations

from collections.abc import Sequence

from streams.console.archive.row_store import RowStore
from streams.console.health.series import merged
from streams.console.read_model.ledger import Ledger
from streams.console.read_model.rows import HealthRow
from streams.console.read_model.tables import HEALTH


async def samples(
    archive: RowStore, ledger: Ledger, scope: str, names: Sequence[str], since: int, step_ms: int
) -> dict[str, list[HealthRow]]:
    """Return the newest sample of each step of time, by name, oldest first.

    Args:
        archive: Has all samples of 30 days, but perhaps not yet the newest.
        ledger: Holds the newest samples.
        scope: Kind of subject, agent or tool.
        names: At most a page of them.
        since: Where it begins, in milliseconds since 1970.
        step_ms: The length of a step, whole samples of five minutes.
    """
    marks = ", ".join("?" * len(names))
    newest = (
        'WHERE ("scope", "name", "bucket") IN (SELECT "scope", "name", max("bucket") FROM "health" '  # noqa: S608
        f'WHERE "scope" = ? AND "name" IN ({marks}) AND "bucket" >= ? GROUP BY "name", "bucket" / ?)'
    )
    kept = await archive.select(HEALTH, newest, (scope, *names, since, step_ms)) if names else []
    wanted = set(names)
    held = [
        row
        for row in ledger.health.values()
        if row.scope == scope and row.name in wanted and row.bucket >= since
    ]
    found: dict[str, list[HealthRow]] = {name: [] for name in names}
    for row in merged((row for row in kept if isinstance(row, HealthRow)), held):
        found[row.name].append(row)
    return found

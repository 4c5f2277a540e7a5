"""Dead letters by their headers, and what was sent again. Values are never looked at: only their size is."""

from __future__ import annotations

from typing import Final

import orjson

from streams.console.read_model.rows import LetterRow, RedrivenRow
from streams.core.domain.run import StoredRecord
from streams.operate.redrive.letter import read

#: A longer key is cut: only a session id is of use here.
_LONGEST_KEY: Final = 1_000


def letter_of(source: StoredRecord) -> LetterRow:
    """Return a record of decision-logs-dlq as a row; any record has one."""
    letter = read(source)
    key = None if letter.key is None else letter.key[:_LONGEST_KEY].decode("utf-8", "replace")
    return LetterRow(
        partition=letter.partition,
        offset=letter.offset,
        ts=letter.timestamp,
        reason=letter.counted_as,
        problems=",".join(letter.problems),
        key=key,
        session_id=key,
        source=None if letter.source is None else f"{letter.source.partition}/{letter.source.offset}",
        size=letter.size,
        cut=letter.cut,
        stage=letter.stage,
        detail=letter.detail,
    )


def redriven_of(source: StoredRecord) -> RedrivenRow | None:
    """Return a mark of decision-logs-redriven as a row, None if it is none.

    `streams.operate.redrive.memory` writes them.
    """
    parts = (source.key or b"").decode("utf-8", "replace").split("/")
    try:
        said = orjson.loads(source.value or b"")
        _, partition, offset = parts
        place = f"{int(partition)}/{int(offset)}"
        return RedrivenRow(place, int(said["times"]), int(bool(said["done"])), str(said["run"]))
    except (ValueError, KeyError, TypeError):
        return None


def merged_redriven(one: RedrivenRow, other: RedrivenRow) -> RedrivenRow:
    """Return how far sending a message again came: the greatest number of times, and whether it arrived."""
    return max(one, other, key=lambda row: (row.times, row.done, row.run))


def fate_of(mark: RedrivenRow | None) -> str:
    """Return the fate of a letter in words: empty, uncertain, or sent with how often.

    >>> fate_of(None), fate_of(RedrivenRow("0/1", 1, 0, "a")), fate_of(RedrivenRow("0/1", 2, 1, "a"))
    ('', 'uncertain', 'sent 2 times')
    """
    if mark is None:
        return ""
    if not mark.done:
        return "uncertain"
    return "sent" if mark.times == 1 else f"sent {mark.times} times"

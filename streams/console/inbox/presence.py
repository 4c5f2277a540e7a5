"""What there is to say when no session needs anything: how many are live, and whether records still come."""

from __future__ import annotations

from typing import Any

from streams.console.read_model.attention import SILENT_MS
from streams.console.read_model.model import ReadModel
from streams.core.domain.text.amounts import count


def presence(model: ReadModel, now: int) -> dict[str, Any]:
    """Return the live sessions, the newest record, and the sentence of an empty page."""
    live = model.live(now)
    return {"live": live, "newest_ts": model.newest_ts, "sentence": said(live, model.newest_ts, now)}


def said(live: int, newest_ts: int | None, now: int) -> str:
    """Return the sentence. Silence is not health: an old newest record is what it says then.

    >>> said(4_120, 1_000, 3_000)
    'No session is in a loop. 4,120 sessions live, newest record 2 s ago.'
    >>> said(0, 0, 720_000)
    'No record for 12 min. Whether a session is in a loop is not known.'
    >>> said(0, None, 0)
    'No record yet. Whether a session is in a loop is not known.'
    """
    if newest_ts is None:
        return "No record yet. Whether a session is in a loop is not known."
    age = max(0, now - newest_ts)
    if age > SILENT_MS:
        return f"No record for {_age(age)}. Whether a session is in a loop is not known."
    return f"No session is in a loop. {count(live, 'session')} live, newest record {_age(age)} ago."


def _age(ms: int) -> str:
    for unit, size in (("d", 86_400_000), ("h", 3_600_000), ("min", 60_000)):
        if ms >= size:
            return f"{ms // size} {unit}"
    return f"{ms // 1000} s"

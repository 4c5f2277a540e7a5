"""What the card of one cell says: who it is, what is wrong, and which sessions belong to it."""

from __future__ import annotations

import re
from typing import Any, Final

from streams.console.inbox.row import row
from streams.console.inbox.session_list import session_row
from streams.console.read_model.model import ReadModel
from streams.console.session_map.picture import WORDS, related, states_at
from streams.console.session_map.seating import Seat, Seating

_SEAT: Final = re.compile(r"([0-9]{1,9}):([0-9]{1,9})")


def seat_of(text: str) -> Seat | None:
    """Read a seat as addresses have it, None for what is none.

    >>> seat_of("3:17"), seat_of("3"), seat_of("")
    (Seat(place=3, slot=17), None, None)
    """
    found = _SEAT.fullmatch(text)
    return None if found is None else Seat(int(found[1]), int(found[2]))


def cell(model: ReadModel, seating: Seating, session_id: str, now: int) -> dict[str, Any] | None:
    """Return the content of the card of a session, None if the session is not on the map."""
    case, seat = model.cases.get(session_id), seating.seat(session_id)
    if case is None or seat is None:
        return None
    known, about = session_row(model, case, now), model.attention(now).get(session_id)
    shown = row(about, model.control(session_id, now), now) if about is not None else {}
    state = states_at(model, now)[session_id]
    joined = [other for each in related(model, session_id) if (other := seating.seat(each)) is not None]
    return {
        "session_id": session_id,
        "at": f"{seat.place}:{seat.slot}",
        "agent_id": known["agent_id"],
        "task_type": known["task_type"],
        "goal": known["goal"],
        "state": state,
        "word": WORDS.get(state, state),
        "what": shown.get("what"),
        "class": shown.get("class"),
        "tools": shown.get("tools", []),
        "since": (shown.get("first") or {}).get("at"),
        "burnt": shown.get("tokens"),
        "rate_per_min": shown.get("rate_per_min"),
        "tokens": known["tokens"],
        "records": known["records"],
        "last_ts": known["last_ts"],
        "control": {**known["control"], "after_pause": shown.get("control", {}).get("after_pause", 0)},
        "joined": [f"{other.place}:{other.slot}" for other in joined],
    }

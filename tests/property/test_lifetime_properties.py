"""Removing the state of sessions changes nothing for records that are not later than the grace."""

from collections import Counter
from typing import Any, NamedTuple

import orjson
from hypothesis import given
from hypothesis import strategies as st

from streams.core.domain.outcome import Scored
from streams.core.domain.session import Session
from streams.core.pipeline import expire
from streams.core.policy.state_limits import kept_until
from tests.stream import START_MS, Stream, decision_log

TTL_MS, GRACE_MS, FUTURE_MS = 1_000, 400, 300


class Arrival(NamedTuple):
    """A record, how long after the one before it comes, and how late it is: before its time if negative."""

    session: str
    after_ms: int
    late_ms: int
    intent: str
    terminal: bool


ARRIVALS = st.lists(
    st.builds(
        Arrival,
        st.sampled_from("ab"),
        st.one_of(st.integers(0, 50), st.integers(0, TTL_MS + GRACE_MS + FUTURE_MS + 10)),
        st.integers(-FUTURE_MS, GRACE_MS),
        st.sampled_from(["again", "again", "other"]),
        st.sampled_from([False, False, False, True]),
    ),
    max_size=30,
)


class Told(NamedTuple):
    """What comes of records: their outputs without what closes an expired session, and that by itself."""

    outputs: list[bytes]
    closings: Counter[bytes]


def closing(fields: dict[str, Any]) -> bytes:
    """Return an event that closes a session without what says which record it belongs to."""
    of_the_record = {"id", "event_id", "agent_id", "timestamp", "partition", "offset"}
    return orjson.dumps({name: value for name, value in fields.items() if name not in of_the_record})


def play(arrivals: list[Arrival], *, removing: bool) -> Told:
    stream = Stream(session_ttl_ms=TTL_MS, state_grace_ms=GRACE_MS, max_future_ms=FUTURE_MS)
    now = START_MS
    touched: dict[str, int] = {}
    told = Told([], Counter())

    def remove_due() -> None:
        for session_id, session in list(stream.sessions.items()):
            if not removing or session.ended:
                continue
            until = kept_until(session, touched[session_id], stream.settings)
            assert until is not None
            if until < now:
                for event in expire(session_id, session, stream.settings).events:
                    told.closings[closing(event.fields)] += 1
                del stream.sessions[session_id]

    for number, arrival in enumerate(arrivals):
        now += arrival.after_ms
        remove_due()
        before: Session | None = stream.sessions.get(arrival.session)
        value = decision_log(
            arrival.intent,
            number=number,
            session=arrival.session,
            at_ms=now - arrival.late_ms - START_MS,
            terminal=arrival.terminal,
        )
        outcome = stream.scored(value)
        touched[arrival.session] = now
        closed = _closed(before, outcome)
        for event in outcome.events[:closed]:
            told.closings[closing(event.fields)] += 1
        events = [event.fields for event in outcome.events[closed:]]
        eddy = {**outcome.enriched["eddy"], "events": events}
        told.outputs.append(orjson.dumps([outcome.enriched | {"eddy": eddy}, outcome.node_state]))
    # What is still open at the end is closed in both.
    now += 10 * (TTL_MS + GRACE_MS)
    for session_id, session in stream.sessions.items():
        for event in expire(session_id, session, stream.settings).events:
            told.closings[closing(event.fields)] += 1
    return told


def _closed(before: Session | None, outcome: Scored) -> int:
    """Return how many of a record's events close the session it found expired: those come first."""
    if before is None or before.ended or outcome.decision.timestamp - before.latest <= TTL_MS:
        return 0
    return len(expire("", before, Stream(session_ttl_ms=TTL_MS).settings).events)


@given(ARRIVALS)
def test_removing_what_is_due_gives_the_same_as_keeping_it(arrivals: list[Arrival]) -> None:
    assert play(arrivals, removing=True) == play(arrivals, removing=False)

"""Input whose sessions fall silent: for a while, for longer than they live, or for ever.

Timestamps are those of the clock, so what is sent is not the same each time, and the faults decide when.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random

from streams.kafka.clock import now_ms
from tests.integration.load import Sending, as_avro, keyed, next_turn, spoilt

#: Sessions that always have something to say, enough for every partition; and that pause again and again.
TALKING, PAUSING = 16, 60

#: The pauses of sessions, in lives: some end before the session can be removed, some about then, some later.
_PAUSES = (0.3, 0.9, 1.05, 1.2, 1.5, 3.0)
#: In a burst, and between two new sessions that never come back.
_APART_MS, _NEXT_MS = 300, 700
_AHEAD_MS = 1_500
_SPOILT = 41


@dataclass(slots=True)
class _Talker:
    """A session: what it says next, and when."""

    session_id: str
    which: int
    turn: int = 0
    left: int = 0
    """The number of the burst."""
    returns: bool = True
    ends: bool = False
    """Whether its burst ends with a record that says so."""
    last_ms: int = 0
    """Its newest timestamp."""
    late: bool = False
    """Whether it goes on from that, as if it had not paused."""


def silences(
    partitions: int, lives_ms: int, seed: int = 1, now_ms: Callable[[], int] = now_ms
) -> Iterator[Sending]:
    """Yield records for ever, one each time one is asked for.

    Sessions that are silent for ``lives_ms`` are removed. What a session says after a pause goes on from its
    newest timestamp, every second time: it would belong to the session if that was still there. Else it has
    the time of the clock. Every fifth pausing session is ahead of it.
    """
    random = Random(seed)
    order, names = itertools.count(), itertools.count()
    agenda: list[tuple[int, int, _Talker]] = []

    def call(talker: _Talker, at_ms: int) -> None:
        heapq.heappush(agenda, (at_ms, next(order), talker))

    started = now_ms()
    for number in range(PAUSING):
        talker = _Talker(f"pausing-{number}", number, left=random.randint(4, 8))
        call(talker, started + random.randrange(lives_ms))
    talking = itertools.cycle([_Talker(f"talking-{number}", number) for number in range(TALKING)])
    newcomer_ms = started
    for number in itertools.count():
        now = now_ms()
        if newcomer_ms <= now:
            newcomer_ms = now + _NEXT_MS
            which = next(names)
            burst = random.randint(1, 7)
            call(_Talker(f"passing-{which}", which, left=burst, returns=False, ends=which % 3 == 0), now)
        if agenda and agenda[0][0] <= now:
            _, _, talker = heapq.heappop(agenda)
            yield _said(talker, number, now, partitions)
            talker.left -= 1
            if talker.left:
                call(talker, now + _APART_MS)
            elif talker.returns:
                call(talker, now + int(random.choice(_PAUSES) * lives_ms))
                talker.left, talker.late = random.randint(4, 8), random.random() < 0.5
        else:
            yield _said(next(talking), number, now, partitions)


def _said(talker: _Talker, number: int, now: int, partitions: int) -> Sending:
    value = next_turn(talker.session_id, talker.which, number, talker.turn)
    ahead = _AHEAD_MS if talker.returns and talker.which % 5 == 4 else 0
    talker.last_ms = talker.last_ms + 1 if talker.late else now + ahead
    value["meta"]["timestamp"] = talker.last_ms
    if talker.ends and talker.left == 1:
        value["control"] = {"is_terminal": True}
    talker.turn += 1
    partition, record = keyed(value, partitions, as_avro(value) if talker.which % 2 else None)
    record = record._replace(timestamp=now)
    if number % _SPOILT == _SPOILT - 1:
        return partition, spoilt(record, value, number // _SPOILT)
    return partition, record

"""Exchanges between sessions: two agents that hand each other the same task, without work in between.

Sessions contribute hand-overs of texts that they handed over before (`streams.core.policy.handover`). An
exchange joins sessions by their trace, by the session above them, or by the names of two agents. Of the
hand-overs of two sessions, in the order of event time, it counts *rounds*: how often both handed over a known
text since one of them did other work, or since an hour without any hand-over.

A session is compared with the nearest others only: by the session above only if no other of its trace is
there, by names only if no other of its trace or with the same session above is there. So one ping-pong
gives one alert for each of its sessions and level, whatever joins them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any, Final, NamedTuple

from streams.core.domain.aggregates.contribution import is_place
from streams.core.domain.level import Level
from streams.core.domain.text.digest import digest

FORMAT: Final = 1

#: Sessions of an exchange, those with the newest hand-overs; hand-overs of each, the newest ones.
MOST_SIDES, MOST_TURNS = 16, 16

#: An exchange is stored with those whose keys fall into the same slot. The newest ones of each slot remain,
#: so that what is stored has a bound though new traces never end.
SLOTS, MOST_IN_SLOT = 1024, 4

#: So long a silence ends an exchange, ms.
LONGEST_GAP_MS: Final = 3_600_000

_PREFIX: Final = "handover"


class Joined(StrEnum):
    """What joins the sessions of an exchange."""

    TRACE = "trace"
    ROOT = "root"
    PAIR = "pair"


def exchange_key(joined: Joined, name: str) -> str:
    """Return the key of an exchange.

    >>> exchange_key(Joined.TRACE, "t-1")
    'handover/trace/t-1'
    """
    return f"{_PREFIX}/{joined}/{name}"


def slot_of(key: str) -> str:
    """Return the name of the slot that an exchange is stored in.

    >>> slot_of("handover/trace/t-1") == slot_of("handover/trace/t-1"), len(slot_of("handover/root/s"))
    (True, 3)
    """
    return f"{int(digest(key) or '0', 16) % SLOTS:03x}"


class Handed(NamedTuple):
    """What one record adds to an exchange. There is at most one of each record for each key.

    Attributes:
        key: `exchange_key` of the exchange it adds to.
        partition, offset: place of the record in the input.
        at: its meta.timestamp, ms since 1970.
        session_id, event_id: of the record, the id of the event bounded.
        agent, peer: names of the agent that handed over, "" if it has none, and of the one that was named.
        tool: name of the tool that was called.
        trace, root: trace of the session, and the session above it, or itself if it is the first.
        known: whether the text was handed over before.
        worked: whether the session did other work since its last hand-over that was contributed.
        tokens: used since the first hand-over of the session.
        warn, loop: rounds from which on the level is WARNING, and LOOP.
    """

    key: str
    partition: int
    offset: int
    at: int
    session_id: str
    event_id: str
    agent: str
    peer: str
    tool: str
    trace: str
    root: str
    known: bool
    worked: bool
    tokens: int
    warn: int
    loop: int

    def snapshot(self) -> list[object]:
        """Return it as a JSON-able list, without the key."""
        return [*self[1:]]

    @classmethod
    def restore(cls, key: str, snapshot: Sequence[object]) -> Handed:
        """Read back what `snapshot` wrote.

        Raises:
            ValueError: it is none.
        """
        match snapshot:
            case [
                int(partition),
                int(offset),
                int(at),
                str(session_id),
                str(event_id),
                str(agent),
                str(peer),
                str(tool),
                str(trace),
                str(root),
                bool(known),
                bool(worked),
                int(tokens),
                int(warn),
                int(loop),
            ] if all(map(is_place, (partition, offset, at, tokens, warn, loop))):
                joined = key.split("/", 2)
                if len(joined) == 3 and joined[0] == _PREFIX and joined[1] in set(Joined):
                    texts = session_id, event_id, agent, peer, tool, trace, root
                    return cls(key, partition, offset, at, *texts, known, worked, tokens, warn, loop)
        raise ValueError("not a hand-over")


class ExchangeTurn(NamedTuple):
    """One hand-over as an exchange keeps it; the fields are those of `Handed`."""

    at: int
    offset: int
    event_id: str
    known: bool
    worked: bool
    tokens: int


class ExchangeSide(NamedTuple):
    """One session of an exchange.

    Attributes:
        partition, agent, peer, tool, trace, root: of its newest hand-over, as `Handed` has them.
        alerted: rank of the highest level that was alerted for the session.
        turns: its newest hand-overs, in their order in the partition.
    """

    partition: int
    agent: str
    peer: str
    tool: str
    trace: str
    root: str
    alerted: int
    turns: tuple[ExchangeTurn, ...]

    @property
    def newest(self) -> int:
        """Event time of the newest hand-over, ms."""
        return max(turn.at for turn in self.turns)


class ExchangeRounds(NamedTuple):
    """The most rounds of two sessions, and the first and the last turn of each in them."""

    number: int
    first: tuple[ExchangeTurn, ExchangeTurn]
    last: tuple[ExchangeTurn, ExchangeTurn]


class HandoverAlert(NamedTuple):
    """That a session and another one hand each other the same task.

    Attributes:
        session_id, partition, agent: id of the session, its partition of the input and its agent.
        other_id, other_agent: of the other one.
        level: how grave that is, WARNING or LOOP.
        rounds: how many rounds there were.
        tools: tools that both handed over with.
        first, last: the session's first and last hand-over of the rounds.
    """

    session_id: str
    partition: int
    agent: str
    other_id: str
    other_agent: str
    level: Level
    rounds: int
    tools: tuple[str, ...]
    first: ExchangeTurn
    last: ExchangeTurn


class Exchange(NamedTuple):
    """The hand-overs of the sessions that one key joins: immutable, of bounded size.

    Attributes:
        positions: of each partition of the input, the greatest offset counted. Nothing at or below it counts
            again.
        sides: the sessions, by id.
    """

    positions: Mapping[int, int] = {}
    sides: Mapping[str, ExchangeSide] = {}

    @property
    def newest(self) -> int:
        """Event time of the newest hand-over, ms."""
        return max((side.newest for side in self.sides.values()), default=0)

    def plus(self, handed: Handed) -> tuple[Exchange, list[HandoverAlert]]:
        """Return the exchange with one more hand-over, the same if it was counted, and its alerts."""
        if handed.offset <= self.positions.get(handed.partition, -1):
            return self, []
        session_id = handed.session_id
        sides = {**self.sides, session_id: _with_turn(self.sides.get(session_id), handed)}
        if len(sides) > MOST_SIDES:
            del sides[min(sides, key=lambda name: (sides[name].newest, name))]
        alerts = _alerts(sides, handed) if session_id in sides else []
        for alert in alerts:
            sides[alert.session_id] = sides[alert.session_id]._replace(alerted=alert.level.rank)
        return Exchange({**self.positions, handed.partition: handed.offset}, sides), alerts


class Exchanges(NamedTuple):
    """The exchanges of one slot, as they are stored.

    Attributes:
        positions: of each partition of the input, the greatest offset that any of them, also one that is no
            longer here, has counted.
        by_key: the exchanges by their `exchange_key`.
    """

    positions: Mapping[int, int] = {}
    by_key: Mapping[str, Exchange] = {}

    def plus(self, handed: Handed) -> tuple[Exchanges, list[HandoverAlert]]:
        """Return them with one more hand-over, the same if it was counted, and its alerts."""
        before = self.by_key.get(handed.key, _NONE)
        after, alerts = before.plus(handed)
        if after is before:
            return self, []
        by_key = {**self.by_key, handed.key: after}
        if len(by_key) > MOST_IN_SLOT:
            del by_key[min(by_key, key=lambda key: (by_key[key].newest, key))]
        reached = max(handed.offset, self.positions.get(handed.partition, -1))
        return Exchanges({**self.positions, handed.partition: reached}, by_key), alerts

    def snapshot(self) -> list[object]:
        """Return them as a JSON-able list; equal ones give equal lists."""
        return [
            FORMAT,
            sorted(self.positions.items()),
            [
                [
                    key,
                    sorted(exchange.positions.items()),
                    [_stored(name, side) for name, side in sorted(exchange.sides.items())],
                ]
                for key, exchange in sorted(self.by_key.items())
            ],
        ]

    @classmethod
    def restore(cls, snapshot: Sequence[Any]) -> Exchanges:
        """Read back what `snapshot` wrote.

        Raises:
            ValueError, TypeError: the snapshot is of another format version, or is not a snapshot.
        """
        match snapshot:
            case [1, positions, exchanges]:
                by_key = {
                    _text(key): Exchange(
                        _positions(counted), {_text(name): _side(*side) for name, *side in sides}
                    )
                    for key, counted, sides in exchanges
                }
                return cls(_positions(positions), by_key)
            case [int(version), *_] if version != FORMAT:
                raise ValueError(
                    f"exchanges have format version {version}, this program reads version {FORMAT}"
                )
            case _:
                raise ValueError("not a snapshot of exchanges")


_NONE: Final = Exchange()


def _stored(name: str, side: ExchangeSide) -> list[object]:
    *facts, turns = side
    return [name, *facts, [[*turn] for turn in turns]]


def _positions(stored: Sequence[Any]) -> dict[int, int]:
    positions = dict(stored)
    if not all(is_place(number) for pair in positions.items() for number in pair):
        raise ValueError("a position is no integer")
    return positions


def _text(stored: object) -> str:
    if not isinstance(stored, str):
        raise ValueError("a name is no text")  # noqa: TRY004 - what is stored is damaged
    return stored


def _turn(at: int, offset: int, event_id: str, known: bool, worked: bool, tokens: int) -> ExchangeTurn:
    if not (is_place(at) and is_place(offset) and is_place(tokens)):
        raise ValueError("a place or a time is no integer")
    return ExchangeTurn(at, offset, _text(event_id), bool(known), bool(worked), tokens)


def _side(
    partition: int,
    agent: str,
    peer: str,
    tool: str,
    trace: str,
    root: str,
    alerted: int,
    turns: Sequence[Sequence[Any]],
) -> ExchangeSide:
    if not (turns and is_place(partition) and is_place(alerted)):
        raise ValueError("not a session of an exchange")
    texts = _text(agent), _text(peer), _text(tool), _text(trace), _text(root)
    return ExchangeSide(partition, *texts, alerted, tuple([_turn(*turn) for turn in turns]))


def _with_turn(before: ExchangeSide | None, handed: Handed) -> ExchangeSide:
    turn = ExchangeTurn(handed.at, handed.offset, handed.event_id, handed.known, handed.worked, handed.tokens)
    turns = () if before is None else before.turns[1 - MOST_TURNS :]
    return ExchangeSide(
        handed.partition,
        handed.agent,
        handed.peer,
        handed.tool,
        handed.trace,
        handed.root,
        0 if before is None else before.alerted,
        (*turns, turn),
    )


def _alerts(sides: Mapping[str, ExchangeSide], handed: Handed) -> list[HandoverAlert]:
    """Return what is to be alerted of the session that handed over, and of its partner."""
    name, joined = handed.session_id, Joined(handed.key.split("/", 2)[1])
    if not _has_nearest_here(name, sides, joined):
        return []
    found: list[tuple[int, int, str, ExchangeRounds]] = []
    for other, side in sides.items():
        if _faces(name, other, sides, joined) and _has_nearest_here(other, sides, joined):
            rounds = rounds_of(sides[name].turns, side.turns)
            if rounds is not None:
                found.append((rounds.number, side.newest, other, rounds))
    if not found:
        return []
    count, _, other, rounds = max(found, key=lambda each: each[:3])
    level = _level(count, handed.warn, handed.loop)
    tools = tuple(dict.fromkeys(tool for tool in (sides[name].tool, sides[other].tool) if tool))
    alerts = []
    for own, facing, at in ((name, other, 0), (other, name, 1)):
        side = sides[own]
        if level.rank > side.alerted:
            other_agent = sides[facing].agent or side.peer
            alerted = own, side.partition, side.agent, facing, other_agent, level, count, tools
            alerts.append(HandoverAlert(*alerted, rounds.first[at], rounds.last[at]))
    return alerts


def _level(count: int, warn: int, loop: int) -> Level:
    if count >= loop:
        return Level.LOOP
    return Level.WARNING if count >= warn else Level.NORMAL


def _faces(name: str, other: str, sides: Mapping[str, ExchangeSide], joined: Joined) -> bool:
    """Tell whether two sessions may be partners: another one, and by names each has to name the other."""
    if name == other:
        return False
    one, two = sides[name], sides[other]
    return joined is not Joined.PAIR or (one.agent == two.peer and one.peer == two.agent)


def _has_nearest_here(name: str, sides: Mapping[str, ExchangeSide], joined: Joined) -> bool:
    """Tell whether no other exchange joins a session with one of these more closely."""
    if joined is Joined.TRACE:
        return True
    side = sides[name]
    for other, two in sides.items():
        if _faces(name, other, sides, joined):
            near = side.trace != "" and side.trace == two.trace
            if near or (joined is Joined.PAIR and side.root == two.root):
                return False
    return True


def rounds_of(one: Iterable[ExchangeTurn], two: Iterable[ExchangeTurn]) -> ExchangeRounds | None:
    """Return the most rounds of two sessions without work in between, the newest of equally many.

    >>> def turns(*seconds):
    ...     return [ExchangeTurn(1_000 * at, at, "", True, False, 0) for at in seconds]
    >>> rounds_of(turns(0, 2, 4), turns(1, 3)).number
    2
    >>> rounds_of(turns(0, 2, 4), []) is None
    True
    """
    merged = sorted(
        [(turn.at, side, turn.offset, turn) for side, turns in enumerate((one, two)) for turn in turns]
    )
    best: ExchangeRounds | None = None
    stretch: tuple[list[ExchangeTurn], list[ExchangeTurn]] = ([], [])
    before = 0
    for at, side, _, turn in merged:
        if turn.worked or at - before > LONGEST_GAP_MS:
            stretch = ([], [])
        before = at
        if not turn.known:
            continue
        stretch[side].append(turn)
        count = min(map(len, stretch))
        if count and (best is None or count >= best.number):
            ours, theirs = stretch
            best = ExchangeRounds(count, (ours[0], theirs[0]), (ours[-1], theirs[-1]))
    return best

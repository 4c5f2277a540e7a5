"""Calls that hand work to another agent, and what a session contributes to the exchanges it takes part in.

A call hands work over if the words of the tool's name say so and its arguments name an agent and a text.
A session remembers the words of the texts that it handed over, from its first hand-over on. A hand-over is
*known* if at least half of its words are among them. Only known hand-overs are contributed, and the first
step of another kind that follows one: most sessions contribute nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from enum import IntEnum
from functools import lru_cache
from itertools import islice, pairwise
from typing import Final, NamedTuple

from streams.core.detectors.settings import DetectionSettings
from streams.core.domain.aggregates.exchange import Handed, Joined, exchange_key
from streams.core.domain.decision import Decision
from streams.core.domain.event_kind import EventKind
from streams.core.domain.text.digest import LONGEST_TEXT, bounded
from streams.core.domain.text.marks import WIDTH, Marks, one_by_one, words

#: Name of the state among those of a session.
HANDOVERS: Final = "handovers"

#: Words of one text that count, the first ones, and those a session remembers, the newest ones.
MOST_WORDS, MOST_REMEMBERED = 64, 320

#: Characters of the names of agents, tools and traces; of a longer one remain its beginning and a digest.
LONGEST_NAME: Final = 200

_MOST_TOKENS = 10**15
_FAMILY = EventKind.HANDOVER_LOOP.value
_PARTS: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[^A-Za-z0-9]+")
_SUB_AGENTS: Final = frozenset({"task", "agent"})
_WORDS: Final = frozenset({"delegate", "handoff", "handover"})
_PAIRS: Final = frozenset(
    {
        ("send", "message"),
        ("message", "agent"),
        ("hand", "off"),
        ("hand", "over"),
        ("transfer", "to"),
        ("ask", "agent"),
        ("call", "agent"),
    }
)
_NO_WORK: Final = frozenset(
    {"receive", "inbox", "mailbox", "message", "messages", "wait", "await", "poll", "sleep"}
)
#: A person who approves a call says nothing new.
_NOT_SPOKEN: Final = frozenset({None, "", "approval"})
_PEERS: Final = (
    "to",
    "recipient",
    "agent",
    "agent_name",
    "assignee",
    "coworker",
    "subagent_type",
    "target",
)
_TEXTS: Final = (
    "message",
    "text",
    "content",
    "task",
    "prompt",
    "question",
    "request",
    "description",
    "body",
)


class Handover(NamedTuple):
    """A call that hands work to another agent: the name of that agent, and what it is to do."""

    peer: str
    text: str


class Handovers(NamedTuple):
    """What a session remembers, from its first hand-over on.

    Attributes:
        known: marks of the words that it handed over, the newest last.
        worked: whether it did other work since what it contributed last, or a person spoke.
        is_open: whether that was a known hand-over: then other work is contributed, too.
        tokens: used since the first hand-over.
    """

    known: str = ""
    worked: bool = False
    is_open: bool = False
    tokens: float = 0


class _Role(IntEnum):
    """What the name of a tool says."""

    WORKS = 0
    WAITS = 1
    HANDS_OVER = 2


_WORKS, _WAITS, _HANDS_OVER = _Role


def hands_over(tool: str) -> bool:
    """Tell whether the name of a tool says that it hands work to another agent.

    >>> [hands_over(name) for name in ("send_message", "transferToBilling", "Task", "read_file")]
    [True, True, True, False]
    """
    return _role(tool) is _HANDS_OVER


def handover_of(decision: Decision) -> Handover | None:
    """Return what a record hands to another agent, None for a record that hands nothing over."""
    tool = decision.tool
    if tool is None or decision.kind != "tool" or decision.status not in {"success", "pending"}:
        return None
    if _role(tool) is not _HANDS_OVER:
        return None
    arguments = _arguments(decision.canonical_input)
    peer = _first(arguments, _PEERS) or _peer_in(tool)
    text = _first(arguments, _TEXTS)
    return Handover(peer, text) if peer and text else None


def follow_handovers(
    stored: Sequence[object] | None, decision: Decision, settings: DetectionSettings
) -> tuple[Handovers | None, tuple[Handed, ...]]:
    """Return what a session remembers after a record, and what it contributes.

    A session remembers nothing, None, before its first hand-over.

    Args:
        stored: what it remembered before the record, as it was left or as it was stored.
        decision: the next record of the session.
        settings: those in force for the record.
    """
    handover = handover_of(decision)
    if stored is None and handover is None:
        return None, ()
    state = _restored(stored)
    tokens = min(state.tokens + decision.tokens_used, _MOST_TOKENS)
    worked = state.worked or _breaks(decision)
    if handover is None:
        return Handovers(state.known, worked, state.is_open, tokens), ()
    message = Marks.of(islice(words(handover.text), MOST_WORDS)) if handover.text else Marks()
    is_known = _is_known(message, state.known)
    after = Handovers(_with(state.known, message), worked, state.is_open, tokens)
    if not is_known and not (worked and state.is_open):
        return after, ()
    handed = _contributions(handover, decision, settings, known=is_known, worked=worked, tokens=round(tokens))
    return Handovers(after.known, False, is_known, tokens), handed


def _contributions(
    handover: Handover,
    decision: Decision,
    settings: DetectionSettings,
    *,
    known: bool,
    worked: bool,
    tokens: int,
) -> tuple[Handed, ...]:
    session_id = decision.session_id
    if _FAMILY not in settings.alert_families or len(session_id) > LONGEST_TEXT:
        return ()
    meta = decision.known["meta"]
    trace = bounded(meta.get("trace_id") or "", LONGEST_NAME)
    root = bounded(meta.get("parent_session_id") or session_id, LONGEST_NAME)
    agent = bounded(decision.agent_id, LONGEST_NAME) if decision.has_agent else ""
    peer = bounded(handover.peer, LONGEST_NAME)
    keys = [exchange_key(Joined.ROOT, root)]
    if trace:
        keys.insert(0, exchange_key(Joined.TRACE, trace))
    if agent and agent != peer:
        keys.append(exchange_key(Joined.PAIR, json.dumps(sorted((agent, peer)))))
    return tuple(
        [
            Handed(
                key,
                decision.partition,
                decision.offset,
                decision.timestamp,
                session_id,
                bounded(decision.event_id, LONGEST_NAME),
                agent,
                peer,
                bounded(decision.tool or "", LONGEST_NAME),
                trace,
                root,
                known,
                worked,
                tokens,
                settings.handover_warn,
                settings.handover_loop,
            )
            for key in keys
        ]
    )


def _breaks(decision: Decision) -> bool:
    """Tell whether a record is work of the session's own, or a person spoke before it."""
    if decision.known["meta"].get("user_turn") not in _NOT_SPOKEN:
        return True
    tool = decision.tool
    if tool is None or decision.kind != "tool" or decision.status != "success":
        return False
    return _role(tool) is _WORKS


def _role(tool: str) -> _Role:
    # Producers choose the names: very long ones are of no tool that hands over.
    return _known_role(tool) if len(tool) <= LONGEST_NAME else _WORKS


@lru_cache(maxsize=4_096)
def _known_role(tool: str) -> _Role:
    if tool.lower() in _SUB_AGENTS:
        return _HANDS_OVER
    parts = _parts(tool)
    if not _WORDS.isdisjoint(parts) or not _PAIRS.isdisjoint(pairwise(parts)):
        return _HANDS_OVER
    return _WORKS if _NO_WORK.isdisjoint(parts) else _WAITS


def _parts(tool: str) -> list[str]:
    return [part.lower() for part in _PARTS.split(tool) if part]


def _peer_in(tool: str) -> str:
    """Return the agent that the name of a tool names behind ``transfer_to``, "" if it names none."""
    parts = _parts(tool)
    for at, pair in enumerate(pairwise(parts)):
        if pair == ("transfer", "to"):
            return "_".join(parts[at + 2 :])
    return ""


def _arguments(canonical_input: str) -> Mapping[str, object]:
    if not canonical_input.startswith("{"):
        return {}
    try:
        read: object = json.loads(canonical_input)
    except (ValueError, RecursionError):
        return {}
    return read if isinstance(read, dict) else {}


def _first(arguments: Mapping[str, object], names: Sequence[str]) -> str:
    for name in names:
        value = arguments.get(name)
        if isinstance(value, str) and value.strip():
            return value.strip()
    return ""


def _is_known(message: Marks, known: str) -> bool:
    if not message or not known:
        return False
    return 2 * len(Marks(known).set.intersection(one_by_one(message))) >= len(message) // WIDTH


def _with(known: str, message: Marks) -> str:
    """Return the marks with those of one more text as the newest, without the oldest of too many."""
    return (Marks(known).without(message) + message)[-WIDTH * MOST_REMEMBERED :]


def _restored(stored: Sequence[object] | None) -> Handovers:
    match stored:
        case None:
            return _FRESH
        case [str(known), bool(worked), bool(is_open), int() | float() as tokens]:
            return Handovers(known, worked, is_open, tokens)
        case _:
            raise ValueError("not what a session remembers of its hand-overs")


_FRESH: Final = Handovers()

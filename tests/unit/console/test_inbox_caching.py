"""The inbox works a session out again when it has to: what it keeps is what a fresh look would give."""

from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from streams.console.read_model.model import ReadModel
from streams.console.read_model.triage import EpisodeSeen
from tests.unit.console.agents import Board
from tests.unit.console.told import Told

SESSIONS = ("a", "b")
ACTS = st.tuples(
    st.sampled_from(
        ["loop", "work", "pause", "resume", "hold", "attach", "apply", "ack", "snooze", "ask", "forget"]
    ),
    st.sampled_from(SESSIONS),
)
WAITS = st.sampled_from([0, 1, 4, 6, 60, 299, 301, 900, 3_600, 90_000])


def looked(model: ReadModel, now: int) -> dict[str, tuple[Any, ...]]:
    return {
        session: (about.class_, about.tab, about.tokens, about.standing, about.control.state)
        for session, about in model.attention(now).items()
    }


def do(board: Board, what: str, session: str, commands: dict[str, Told]) -> None:
    topics, now = board.topics, board.now
    match what:
        case "loop" | "work":
            getattr(board, what)(session, 4)
        case "pause" | "resume":
            commands[session] = board.take(topics.command(what, session, now))
        case "hold":
            commands[session] = board.take(topics.command("pause", None, now))
        case "attach":
            board.take(topics.ack("attached", None, session, now))
        case "apply" if session in commands:
            board.take(topics.ack("applied", commands[session], session, now))
        case "ask":
            board.act(session, control={"hitl_required": True})
        case "ack" | "snooze":
            about = board.model.attention(now).get(session)
            if about is not None:
                more = {"until": now + 200_000} if what == "snooze" else {}
                board.take(topics.triage(what, about.subject, now, EpisodeSeen.of(about.episode), **more))
        case "forget":
            board.model.drain()
            board.model.forget(now)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(ACTS, WAITS), max_size=14))
@example([(("loop", "b"), 0), *(((("pause", each)), 299) for each in ("b", "a", "a")), (("loop", "a"), 0)])
def test_what_is_kept_is_what_a_fresh_look_gives(history: list[tuple[tuple[str, str], int]]) -> None:
    board = Board(episode_min_level="WARNING")
    commands: dict[str, Told] = {}
    for (what, session), seconds in history:
        do(board, what, session, commands)
        board.now += seconds * 1_000
        fresh = ReadModel()
        fresh.restore(board.model.rows())
        assert looked(board.model, board.now) == looked(fresh, board.now)

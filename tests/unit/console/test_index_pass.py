"""Which records are read whole, and which sessions stay in memory."""

from collections.abc import Iterable

import pytest

from streams.console.inbox import Query, page
from streams.console.read_model.model import SAMPLED, ReadModel
from streams.console.read_model.rows import LetterRow, Row, SessionRow
from streams.core.domain.topic import Topic
from streams.kafka.stored import Stored
from tests.unit.console.agents import HOUR_MS, MINUTE_MS, Board
from tests.unit.console.told import Topics


def stored(board: Board, session: str, offset: int = 1_000) -> Stored:
    return Stored(0, offset, board.now, session.encode(), b"", ())


def wanted(board: Board, session: str, count: int = 6_400) -> int:
    """Return how many of so many records of a session would be read whole."""
    return sum(board.model.wants_value(stored(board, session, 1_000 + offset)) for offset in range(count))


def test_the_first_record_of_an_unknown_session_is_read_whole() -> None:
    board = Board()
    assert wanted(board, "s") == 6_400
    board.model.index(Topic.ENRICHED, stored(board, "s"))
    assert wanted(board, "s") == 6_400, "its place alone does not say whose it is"
    board.work("s", 1)
    assert wanted(board, "s") < 6_400


def test_a_session_that_begins_again_after_its_end_is_live_and_its_first_record_is_read_whole() -> None:
    board = Board()
    board.loop("s", 8)
    board.act("s", terminal=True, status="success")
    session = board.model.cases["s"].session
    assert (session.ended, session.shown_node) == (True, "idle")
    assert wanted(board, "s") == 6_400
    board.work("s", 1)
    assert (session.ended, session.shown_node) == (False, "active")
    assert wanted(board, "s") < 6_400


def test_about_one_record_in_64_of_a_session_that_nobody_watches_is() -> None:
    board = Board()
    board.work("s", 3)
    share = wanted(board, "s") / 6_400
    assert 0.5 / SAMPLED < share < 2 / SAMPLED


def test_a_session_whose_alert_came_after_its_records_were_passed_over_is_read_to_its_newest() -> None:
    board = Board()
    board.work("s", 3)
    enriched, alerts = [], []
    for _ in range(6):
        for told in board.done("s", tool="search", tool_input="again", error="none"):
            (enriched if told.topic is Topic.ENRICHED else alerts).append(told)
    for told in enriched:
        board.model.index(Topic.ENRICHED, told.stored)
    session = board.model.cases["s"].session
    assert (session.is_sampled, session.tokens, session.records) == (True, 1_500, 9)
    assert board.model.behind(board.now, 10) == {}, "nobody has to look at it"
    for told in alerts:
        board.take(told)
    newest = enriched[-1]
    assert board.model.behind(board.now, 10) == {"s": (newest.stored.partition, newest.stored.offset)}
    board.take(newest)
    assert (session.is_sampled, session.tokens, board.model.behind(board.now, 10)) == (False, 4_500, {})


def test_a_session_that_somebody_looks_at_is_read_to_its_newest_too() -> None:
    board = Board()
    board.work("s", 3)
    partition, _ = board.model.cases["s"].session.places.last
    board.model.index(Topic.ENRICHED, stored(board, "s")._replace(partition=partition))
    board.model.pages = frozenset({"s", "unknown"})
    assert board.model.behind(board.now, 10) == {"s": (partition, 1_000)}


@pytest.mark.parametrize("what", ["episode", "drift", "budget", "person", "command", "hold", "page"])
def test_every_record_of_a_watched_session_is(what: str) -> None:
    drifts = {"nudge_threshold": 0.01, "replan_threshold": 0.02, "checkpoint_threshold": 0.03}
    board = Board(**{"drift": drifts, "budget": {"initial_tokens": 2_000}}.get(what, {}))
    board.work("s", 3)
    board.work("other", 3)
    if what == "episode":
        board.loop("s", 5)
    elif what == "budget":
        board.work("s", 2)
    elif what == "person":
        board.act("s", status="success", control={"hitl_required": True})
    elif what == "drift":
        for _ in range(4):
            board.act("s", tool=None, state_delta={"tokens_consumed": 1, "progress_delta": 0})
    elif what == "command":
        board.take(board.topics.command("pause", "s", board.now))
    elif what == "hold":
        board.act("s", agent="agent-2")
        board.take(board.topics.command("pause", None, board.now, scope="agent", agent_id="agent-2"))
    else:
        board.model.pages = frozenset({"s"})
    assert wanted(board, "s") == 6_400
    assert wanted(board, "other") < 6_400


def test_a_session_is_no_longer_watched_when_its_episode_is_over_or_its_command_has_expired() -> None:
    board = Board()
    board.loop("s", 5)
    board.work("s", 12)
    assert wanted(board, "s") < 6_400
    board.take(board.topics.command("pause", "s", board.now))
    board.now += 30 * MINUTE_MS
    assert wanted(board, "s") < 6_400


@pytest.mark.parametrize("key", [None, b"\xff\xfe"])
def test_a_record_whose_key_is_no_session_is_passed_over(key: bytes | None) -> None:
    model = ReadModel()
    record = Stored(0, 1, 0, key, b"", ())
    assert not model.wants_value(record)
    model.index(Topic.ENRICHED, record)
    assert model.cases == {}


def forget(board: Board, model: ReadModel | None = None) -> set[str]:
    """Forget what may be; return the sessions that stay."""
    model = board.model if model is None else model
    model.drain()
    model.forget(board.now)
    return set(model.cases)


def test_a_session_without_a_record_for_live_minutes_is_forgotten_unless_it_needs_an_operator() -> None:
    board = Board()
    board.loop("looping", 5)
    board.work("quiet", 3)
    board.act("asks", status="success", control={"hitl_required": True})
    board.work("watched", 3)
    board.model.pages = frozenset({"watched"})
    board.work("paused", 3)
    board.take(board.topics.command("pause", "paused", board.now))
    board.now += 14 * MINUTE_MS
    assert forget(board) == {"looping", "quiet", "asks", "watched", "paused"}
    board.now += 2 * MINUTE_MS
    assert forget(board) == {"looping", "asks", "watched", "paused"}
    board.now += 2 * 24 * HOUR_MS
    assert forget(board) == {"looping", "watched"}


def test_above_live_max_the_quietest_are_forgotten_but_never_one_that_needs_an_operator() -> None:
    board = Board()
    board.model = ReadModel(live_max=3)
    board.loop("looping", 5)
    for number in range(6):
        board.work(f"s-{number}", 2)
    assert forget(board) == {"looping", "s-4", "s-5"}


def test_nothing_is_forgotten_that_was_not_drained() -> None:
    board = Board()
    board.work("s", 3)
    board.now += HOUR_MS
    assert board.model.forget(board.now) == 0
    assert forget(board) == set()


def test_a_forgotten_session_comes_back_with_its_next_record() -> None:
    archive: dict[str, Row] = {}

    def recalled(session_id: str) -> Iterable[Row]:
        return [archive[session_id]] if session_id in archive else []

    board = Board()
    board.model = ReadModel(recall=recalled)
    board.work("s", 3)
    archive |= {row.session_id: row for _, row in board.model.drain() if isinstance(row, SessionRow)}
    board.now += HOUR_MS
    assert board.model.forget(board.now) == 1
    board.work("s", 2)
    session = board.model.cases["s"].session
    assert session.records == 5
    assert session.agent_id == "agent-1"


def test_old_letters_leave_memory_but_not_before_they_are_drained() -> None:
    topics, model = Topics(), ReadModel()
    for number in range(10_050):
        model.take(*topics.told(Topic.DEAD_LETTERS, "s", None, number))
    model.forget(0)
    drained = [row for _, row in model.drain() if isinstance(row, LetterRow)]
    assert len(drained) == 10_050
    model.forget(0)
    assert len(model.ledger.letters) == 10_000
    assert min(row.ts for row in model.ledger.letters.values()) == 50


def test_the_list_of_an_inbox_is_worked_out_again_only_for_sessions_that_changed() -> None:
    board = Board()
    board.loop("a", 5)
    board.loop("b", 5)
    before = dict(board.model.attention(board.now))
    board.loop("b", 1)
    after = board.model.attention(board.now)
    assert after["a"] is before["a"]
    assert after["b"] is not before["b"]
    assert len(page(board.model, Query.parse({}), board.now).rows) == 2

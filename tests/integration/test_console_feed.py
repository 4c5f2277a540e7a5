"""The console's reading of a cluster: its rows are those of all records, whatever happens meanwhile."""

from __future__ import annotations

import asyncio
import itertools
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from streams.console.archive.archive import WritePoint
from streams.console.read_model.rows import ForgottenRow, SessionRow
from streams.console.topic_follower import FollowerSettings
from streams.core.domain.record import Outgoing
from streams.core.domain.topic import Topic
from streams.kafka.client import Brokers, connect
from streams.kafka.clock import now_ms
from streams.kafka.connection import Connection
from tests.integration.brokers import Linked
from tests.integration.console_feed import (
    RECORDS,
    archived,
    caught_up,
    comparable,
    killed,
    publish,
    reference,
    running,
)
from tests.integration.load import HOUR_MS, load
from tests.integration.stage import Stage, delete_topics, prepared
from tests.integration.worker_process import PATIENCE_SECONDS, until

pytestmark = pytest.mark.integration


@pytest.fixture
async def brokers(stage: Stage) -> AsyncIterator[Brokers]:
    async with connect(Connection(stage.broker.bootstrap)) as connected:
        yield connected


@pytest.fixture
async def partitions(brokers: Brokers) -> dict[Topic, int]:
    counts = await brokers.partition_counts(list(Topic))
    return {Topic(name): count for name, count in counts.items() if name in set(Topic)}


async def test_all_that_a_job_publishes_is_folded_and_a_writer_sees_its_own_record(
    stage: Stage, brokers: Brokers, tmp_path: Path
) -> None:
    # What is known of a session after an order depends on which topic is read first, until its next record.
    await stage.send(itertools.islice(load(stage.partitions, orders=False), 400))
    await stage.worker().ready()
    async with running(brokers, tmp_path / "archive") as board:
        await stage.processed()
        await caught_up(brokers, board.feed)
        [place] = await brokers.write(
            Topic.DETECTOR_CONFIG, [(0, Outgoing(b"k", b'{"version": 1}', now_ms()))]
        )
        assert await board.feed.passed(Topic.DETECTOR_CONFIG, *place, seconds=PATIENCE_SECONDS)
        assert not await board.feed.passed(Topic.DETECTOR_CONFIG, 0, place[1] + 1, seconds=0.01)
        assert not any(board.feed.lag().values())
        assert comparable(board.model.rows()) == await reference(brokers)
        assert not board.feed.intake.newest_unread
    assert archived(tmp_path / "archive") == await reference(brokers)


async def test_a_record_that_cannot_be_decoded_is_counted_named_and_passed_over(
    brokers: Brokers, tmp_path: Path
) -> None:
    broken = Outgoing(b"s", b"\x00\x00\x00\x00\x07nothing", now_ms())
    strange = Outgoing(b"s", b'{"id": "x"}', now_ms())
    right = next(told.stored for told in RECORDS if told.topic is Topic.SESSION_ALERTS)
    places = await brokers.write(
        Topic.SESSION_ALERTS, [(0, broken), (0, strange), (0, Outgoing(right.key, right.value, now_ms()))]
    )
    async with running(brokers, tmp_path / "archive") as board:
        assert await board.feed.passed(Topic.SESSION_ALERTS, *places[2], seconds=PATIENCE_SECONDS)
        assert [row.session_id for row in board.model.rows() if isinstance(row, SessionRow)]
        assert board.feed.intake.unread == {Topic.SESSION_ALERTS: 2}
        unread = [(each.topic, each.partition, each.offset) for each in board.feed.intake.newest_unread]
    assert unread == [(Topic.SESSION_ALERTS, *place) for place in places[:2]]


@pytest.mark.parametrize(
    "point", [WritePoint.BEGUN, WritePoint.ROWS_WRITTEN, WritePoint.MARKS_WRITTEN, WritePoint.COMMITTED]
)
async def test_a_console_killed_at_any_statement_loses_nothing_and_counts_nothing_twice(
    stage: Stage, brokers: Brokers, partitions: dict[Topic, int], tmp_path: Path, point: WritePoint
) -> None:
    half = len(RECORDS) // 2
    await publish(brokers, RECORDS[:half], partitions)
    again = itertools.cycle(RECORDS[half:])
    async with killed(stage.broker.bootstrap, tmp_path / "archive", point, 3) as process:
        while process.returncode is None:  # what is written twice counts once
            await publish(brokers, itertools.islice(again, 50), partitions)
            await asyncio.sleep(0.1)
    await publish(brokers, RECORDS[half:], partitions)
    async with running(brokers, tmp_path / "archive") as board:
        await caught_up(brokers, board.feed)
    assert archived(tmp_path / "archive") == await reference(brokers)


async def test_a_console_killed_while_it_drops_the_rows_of_a_topic_that_was_created_again(
    stage: Stage, brokers: Brokers, partitions: dict[Topic, int], tmp_path: Path
) -> None:
    await publish(brokers, RECORDS, partitions)
    async with running(brokers, tmp_path / "archive") as board:
        await caught_up(brokers, board.feed)
    await delete_topics(stage.broker, [Topic.TOPOLOGY])
    await stage.create_topics()
    async with killed(stage.broker.bootstrap, tmp_path / "archive", WritePoint.DROPPED, 2):
        pass
    async with running(brokers, tmp_path / "archive") as board:
        await caught_up(brokers, board.feed)
    # Who was forgotten stays known: other topics still hold what was said of them.
    kept = {each for each in archived(tmp_path / "archive") if each[0] != ForgottenRow.__name__}
    assert kept == await reference(brokers)


async def test_of_a_topic_that_is_created_again_under_a_running_console_no_row_stays(
    stage: Stage, brokers: Brokers, partitions: dict[Topic, int], tmp_path: Path
) -> None:
    await publish(brokers, RECORDS, partitions)
    alerts = [told for told in RECORDS if told.topic is Topic.SESSION_ALERTS]
    async with running(brokers, tmp_path / "archive") as board:
        await caught_up(brokers, board.feed)
        await delete_topics(stage.broker, [Topic.SESSION_ALERTS, Topic.CONSOLE_ACTIONS])
        await stage.create_topics()
        await publish(brokers, alerts[:3], partitions)
        expected = await reference(brokers)

        def is_there() -> bool:  # in memory there is only the newest row about each agent and tool
            differing = comparable(board.model.rows()) ^ expected
            return all(name == "HealthRow" for name, _ in differing)

        await until(is_there, PATIENCE_SECONDS, "the rows of the new topics")
    assert archived(tmp_path / "archive") == expected


async def test_an_archive_that_was_deleted_is_built_again(
    brokers: Brokers, partitions: dict[Topic, int], tmp_path: Path
) -> None:
    await publish(brokers, RECORDS, partitions)
    for _ in range(2):
        async with running(brokers, tmp_path / "archive") as board:
            await caught_up(brokers, board.feed)
        assert archived(tmp_path / "archive") == await reference(brokers)
        shutil.rmtree(tmp_path / "archive")


async def test_an_archive_that_disappears_under_a_running_console_is_built_again_by_the_next(
    brokers: Brokers, partitions: dict[Topic, int], tmp_path: Path
) -> None:
    half = len(RECORDS) // 2
    await publish(brokers, RECORDS[:half], partitions)
    async with running(brokers, tmp_path / "archive") as board:
        await caught_up(brokers, board.feed)
        await board.feed.kept()
        for path in (tmp_path / "archive").glob("archive.sqlite3*"):
            path.unlink()
        await publish(brokers, RECORDS[half:], partitions)
        await caught_up(brokers, board.feed)
        assert comparable(board.model.rows()) == await reference(brokers)
    async with running(brokers, tmp_path / "archive") as board:
        await caught_up(brokers, board.feed)
    assert archived(tmp_path / "archive") == await reference(brokers)


async def test_two_consoles_arrive_at_the_same_rows_and_take_nothing_from_each_other(
    brokers: Brokers, partitions: dict[Topic, int], tmp_path: Path
) -> None:
    half = len(RECORDS) // 2
    async with running(brokers, tmp_path / "one") as one:
        await publish(brokers, RECORDS[:half], partitions)
        await caught_up(brokers, one.feed)
        async with running(brokers, tmp_path / "two") as two:
            await publish(brokers, RECORDS[half:], partitions)
            await caught_up(brokers, one.feed)
            await caught_up(brokers, two.feed)
            expected = await reference(brokers)
            assert comparable(one.model.rows()) == comparable(two.model.rows()) == expected
    assert archived(tmp_path / "one") == archived(tmp_path / "two") == expected


async def test_history_is_read_backwards_after_what_is_new(
    stage: Stage, brokers: Brokers, partitions: dict[Topic, int], tmp_path: Path
) -> None:
    # Some rows from these are kept for a fixed time only, or are of 1970.
    left_out = {Topic.AGENT_HEALTH, Topic.SHADOW_DIFFERENCES, Topic.CONSOLE_ACTIONS}
    chosen = [told for told in RECORDS if told.topic not in left_out]
    await publish(brokers, chosen, partitions, spread_ms=40 * HOUR_MS)
    settings = FollowerSettings(history_days=3_650)
    seen: list[int | None] = []
    async with running(brokers, tmp_path / "archive", settings, now_ms) as board:
        board.feed.listeners.append(lambda: seen.append(board.feed.history_from))
        await caught_up(brokers, board.feed)
    times = [at for at in seen if at is not None]
    assert times == sorted(times, reverse=True)
    assert len(set(times)) > (5 if stage.broker.kind == "kafka" else 0)
    assert archived(tmp_path / "archive") == await reference(brokers)


@pytest.mark.kafka_only("the embedded broker finds offsets by time only roughly")
async def test_history_goes_as_far_back_as_it_should_and_later_further(
    stage: Stage, brokers: Brokers, partitions: dict[Topic, int], tmp_path: Path
) -> None:
    chosen = [told for told in RECORDS if told.topic is Topic.ENRICHED]
    await publish(brokers, chosen, partitions, spread_ms=60 * HOUR_MS)
    rows = await reference(brokers)
    async with running(brokers, tmp_path / "archive", FollowerSettings(history_days=1), now_ms) as board:
        await until(lambda: board.feed.history_from is not None, PATIENCE_SECONDS, "the beginning")
        await caught_up(brokers, board.feed)
        assert 0 < board.feed.intake.total < len(chosen)
        first = board.feed.intake.total
    async with running(brokers, tmp_path / "archive", FollowerSettings(history_days=6), now_ms) as board:
        await until(
            lambda: board.feed.intake.total == len(chosen) - first, PATIENCE_SECONDS, "the rest of history"
        )
        await caught_up(brokers, board.feed)
    assert archived(tmp_path / "archive") == rows


async def test_a_console_goes_on_when_its_brokers_come_back(link: Linked, tmp_path: Path) -> None:
    half = len(RECORDS) // 2
    async with (
        prepared(Stage(link, tmp_path, application_id="eddy")),
        connect(Connection(link.bootstrap)) as brokers,
    ):
        counts = await brokers.partition_counts(list(Topic))
        partitions = {Topic(name): count for name, count in counts.items() if name in set(Topic)}
        await publish(brokers, RECORDS[:half], partitions)
        async with running(brokers, tmp_path / "archive") as board:
            await caught_up(brokers, board.feed)
            await link.link.cut()
            alerts = Topic.SESSION_ALERTS
            await until(lambda: board.feed.silent_ms(alerts) is not None, PATIENCE_SECONDS, "silent brokers")
            link.link.heal()
            await until(lambda: board.feed.silent_ms(alerts) is None, PATIENCE_SECONDS, "brokers that answer")
            await publish(brokers, RECORDS[half:], partitions)
            await caught_up(brokers, board.feed)
        assert archived(tmp_path / "archive") == await reference(brokers)

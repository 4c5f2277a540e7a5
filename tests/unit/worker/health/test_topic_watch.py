"""A topic that is another one stops the worker at once, one that is gone after a while."""

from collections.abc import Iterator
from itertools import repeat

import pytest

from streams.core.errors import InfrastructureError, StateError
from streams.kafka.connection import Connection
from streams.worker.health import topic_watch
from streams.worker.health.topic_watch import GONE_AFTER_SECONDS, TopicWatch


@pytest.fixture
def watch() -> TopicWatch:
    found = TopicWatch(Connection("localhost:1"), ["a", "b"], anew="Begin anew.")
    found._ids = {"a": "1", "b": None}
    return found


def test_topics_that_are_what_they_were_are_fine(watch: TopicWatch) -> None:
    watch.compare({"a": "1", "b": "2"}, 0.0)
    watch.compare({"a": None, "b": None}, 1000.0)


def test_a_topic_with_another_id_is_refused(watch: TopicWatch) -> None:
    with pytest.raises(StateError, match=r"Topic a .* its id was 1 and is 2.*Begin anew\."):
        watch.compare({"a": "2", "b": None}, 0.0)


def test_a_topic_is_gone_when_it_has_been_missing_for_a_while_without_a_break(watch: TopicWatch) -> None:
    watch.compare({"a": "1"}, 0.0)
    watch.compare({"a": "1", "b": None}, GONE_AFTER_SECONDS - 1)
    watch.compare({"a": "1"}, GONE_AFTER_SECONDS)
    with pytest.raises(InfrastructureError, match="Topic b is gone"):
        watch.compare({"a": "1"}, 2 * GONE_AFTER_SECONDS)


def test_a_topic_that_is_only_written_to_has_to_exist_and_may_be_a_new_one(
    caplog: pytest.LogCaptureFixture,
) -> None:
    watch = TopicWatch(Connection("localhost:1"), ["a"], others=["out"], anew="Begin anew.")
    watch._ids = {"a": "1", "out": "2"}
    for _ in range(2):
        watch.compare({"a": "1", "out": "3"}, 0.0)
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "out was deleted and created again" in caplog.text
    watch.compare({"a": "1"}, 0.0)
    with pytest.raises(InfrastructureError, match="Topic out is gone") as gone:
        watch.compare({"a": "1"}, GONE_AFTER_SECONDS)
    assert "Begin anew." not in str(gone.value)


def answers(
    watch: TopicWatch, found: Iterator[dict[str, str | None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def ask() -> dict[str, str | None]:
        return next(found)

    monkeypatch.setattr(watch, "_ask", ask)
    monkeypatch.setattr(topic_watch, "_AGAIN_SECONDS", 0)


async def test_an_assignment_waits_for_topics_that_a_broker_does_not_know_yet(
    watch: TopicWatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers(watch, iter([{"a": "1"}, {}, {"a": "1", "b": "7"}]), monkeypatch)
    assert await watch.refresh() == {"a": "1", "b": "7"}
    assert watch.ids == {"a": "1", "b": "7"}


async def test_a_topic_that_is_gone_is_not_passed_over_at_an_assignment(
    watch: TopicWatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A deletion changes what a group has, so the next assignment may well come before it is noticed."""
    answers(watch, repeat({"a": "1"}), monkeypatch)
    monkeypatch.setattr(topic_watch, "GONE_AFTER_SECONDS", 0.0)
    with pytest.raises(InfrastructureError, match="Topic b is gone"):
        await watch.refresh()

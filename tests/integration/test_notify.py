"""`eddy notify` as people run it: alerts on a broker, a receiver that misbehaves, kills, restarts."""

from __future__ import annotations

import base64
import hashlib
import hmac
import itertools
from typing import Any

import pytest
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions

from schemas.codec import Codec
from streams.core.domain.record import Outgoing
from streams.core.domain.topic import Topic
from streams.kafka.client import Stored, connect
from streams.kafka.connection import Connection
from streams.kafka.survey import group
from tests.integration.receiver import HANG, HANG_UP, Receiver, notifying, receiving
from tests.integration.stage import Stage
from tests.integration.worker_process import PATIENCE_SECONDS, until
from tests.network import Link
from tests.unit.alerts.sinks.alerts import NOW_MS, SECRET, fields

pytestmark = pytest.mark.integration

SESSIONS = 3


async def put(stage: Stage, *alerts: dict[str, Any]) -> None:
    """Write alerts as a worker does; a session has its partition."""
    encoder = Codec.bundled().encoder("session-alerts-value")
    async with connect(Connection(stage.broker.bootstrap)) as brokers:
        records = [
            (
                partition_of(each),
                Outgoing(
                    each["session_id"].encode(),
                    encoder.encode(each),
                    each["timestamp"],
                    list(encoder.headers),
                ),
            )
            for each in alerts
        ]
        await brokers.write(Topic.SESSION_ALERTS, records)


def partition_of(alert: dict[str, Any]) -> int:
    return int(alert["session_id"].rpartition("-")[2]) % 4


async def dead_letters(stage: Stage, count: int) -> list[Stored]:
    async def there() -> bool:
        return len(await stage.read(Topic.ALERT_DEAD_LETTERS)) >= count

    await until(there, PATIENCE_SECONDS, "dead letters", *stage.workers)
    return await stage.read(Topic.ALERT_DEAD_LETTERS)


async def all_committed(stage: Stage, count: int) -> None:
    """Wait until the group has committed as many alerts as there are."""

    async def committed() -> bool:
        places = [(Topic.SESSION_ALERTS.value, partition) for partition in range(4)]
        found = await group(Connection(stage.broker.bootstrap), "eddy-notify", places)
        return sum(found.committed.values()) >= count

    await until(committed, PATIENCE_SECONDS, "the commit of all alerts", *stage.workers)


async def test_a_new_group_tells_what_comes_and_nothing_that_is_old(stage: Stage, receiver: Receiver) -> None:
    await put(stage, fields(session="s-0"), fields(session="s-1"))
    await notifying(stage, receiver).ready()
    await put(stage, fields("recovered", 24, session="s-1"), fields(session="s-2"))
    found = await receiver.has(2)
    assert {each.body["id"] for each in found} == {
        "s-1/0/24/loop_episode/recovered",
        "s-2/0/6/loop_episode/opened",
    }


@pytest.mark.any_broker
async def test_a_message_is_a_signed_cloud_event(stage: Stage, receiver: Receiver) -> None:
    await notifying(stage, receiver).ready()
    await put(stage, fields())
    [got] = await receiver.has(1)
    key = base64.b64decode(SECRET.removeprefix("whsec_"))
    content = f"{got.headers['webhook-id']}.{got.headers['webhook-timestamp']}.".encode() + got.raw
    signature = base64.b64encode(hmac.digest(key, content, hashlib.sha256)).decode()
    assert got.headers["webhook-signature"] == f"v1,{signature}"
    assert got.headers["Content-Type"].startswith("application/cloudevents+json")
    assert got.body["specversion"] == "1.0"
    assert got.body["subject"] == "s-1"
    assert got.body["data"]["phase"] == "opened"


@pytest.mark.any_broker
async def test_a_receiver_in_trouble_gets_everything_in_the_end_under_the_same_ids(
    stage: Stage, receiver: Receiver
) -> None:
    receiver.plan.extend([500, (429, {"Retry-After": "1"}), HANG_UP, HANG, 503])
    notifier = await notifying(stage, receiver).ready()
    await put(stage, fields(), fields("recovered", 24), fields(session="s-2"))
    await receiver.has(3)
    assert sorted(receiver.ids()) == [
        "s-1/0/24/loop_episode/recovered",
        "s-1/0/6/loop_episode/opened",
        "s-2/0/6/loop_episode/opened",
    ]
    own = [each for each in receiver.ids() if each.startswith("s-1")]
    assert own == ["s-1/0/6/loop_episode/opened", "s-1/0/24/loop_episode/recovered"]
    assert len(receiver.got) == 3 + 5
    assert await notifier.metric("eddy_notify_deliveries_total", result="retried") == 5
    await all_committed(stage, 3)
    assert await stage.read(Topic.ALERT_DEAD_LETTERS) == []


@pytest.mark.any_broker
async def test_what_a_receiver_refuses_is_a_dead_letter_and_the_next_arrives(
    stage: Stage, receiver: Receiver
) -> None:
    receiver.plan.append(400)
    notifier = await notifying(stage, receiver).ready()
    await put(stage, fields(), fields("recovered", 24))
    [got] = await receiver.has(1)
    assert got.body["id"] == "s-1/0/24/loop_episode/recovered"
    [letter] = await dead_letters(stage, 1)
    headers = dict(letter.headers)
    assert headers["x-dlq-sink"] == b"webhook"
    assert headers["x-dlq-status"] == b"400"
    assert headers["x-dlq-answer"] == b'{"error": "by plan"}'
    assert b'"session_id": "s-1"' in (letter.value or b"")
    await all_committed(stage, 2)
    assert SECRET not in notifier.log


@pytest.mark.any_broker
async def test_a_receiver_that_is_gone_is_asked_no_more(stage: Stage, receiver: Receiver) -> None:
    receiver.plan.append(410)
    notifier = await notifying(stage, receiver).ready()
    await put(stage, fields())
    await dead_letters(stage, 1)
    await put(stage, fields("recovered", 24))
    await dead_letters(stage, 2)
    assert len(receiver.got) == 1
    assert await notifier.metric("eddy_notify_gone") == 1


@pytest.mark.parametrize("kill_at", [1, 2, 4])
async def test_killed_between_a_delivery_and_its_commit_it_loses_nothing_and_makes_no_other_ids(
    stage: Stage, receiver: Receiver, kill_at: int
) -> None:
    sessions = [f"s-{number}" for number in range(SESSIONS)]
    alerts = [fields(session=each) for each in sessions]
    alerts += [fields("recovered", 24, session=each) for each in sessions]
    first = await notifying(stage, receiver).ready()

    def kill(_: object) -> None:
        if len(receiver.got) == kill_at:
            first.kill()

    receiver.on_request = kill
    await put(stage, *alerts)
    await first.ended()
    notifying(stage, receiver)
    wanted = {each["id"] for each in alerts}
    await until(
        lambda: set(receiver.ids()) == wanted, PATIENCE_SECONDS, "every alert, once more", *stage.workers
    )
    await all_committed(stage, len(alerts))
    assert set(receiver.ids()) == wanted


async def test_a_stop_leaves_nothing_to_repeat(stage: Stage, receiver: Receiver) -> None:
    first = await notifying(stage, receiver).ready()
    await put(stage, fields())
    await receiver.has(1)
    first.terminate()
    assert await first.ended() == 0
    await notifying(stage, receiver).ready()
    await put(stage, fields("recovered", 24))
    await receiver.has(2)
    assert receiver.ids() == ["s-1/0/6/loop_episode/opened", "s-1/0/24/loop_episode/recovered"]


async def test_a_second_notifier_takes_over(stage: Stage, receiver: Receiver) -> None:
    first = await notifying(stage, receiver).ready()
    second = await notifying(stage, receiver).ready()
    await put(stage, *(fields(session=f"s-{number}") for number in range(4)))
    await receiver.has(4)
    await all_committed(stage, 4)
    first.kill()
    await put(stage, *(fields("recovered", 24, session=f"s-{number}") for number in range(4)))
    ends = {f"s-{number}/0/24/loop_episode/recovered" for number in range(4)}
    await until(lambda: ends <= set(receiver.ids()), PATIENCE_SECONDS, "the ends", second)


async def test_who_was_told_of_a_loop_hears_that_a_person_says_it_is_none(
    stage: Stage, receiver: Receiver
) -> None:
    notifier = await notifying(stage, receiver).ready()
    await put(stage, fields(session="s-1"), fields(session="s-2"))
    await receiver.has(2)
    await stage.command("label", "s-1", "not-a-loop", "--bootstrap-servers", stage.broker.bootstrap)

    async def resolved() -> bool:
        # The label comes by another topic than the alerts, so one that goes on may be the first to meet it.
        offset = next(offsets)
        await put(stage, *(fields("still_open", offset, session=each) for each in ("s-1", "s-2")))
        found = [each.body["data"] for each in receiver.taken]
        return ("s-1", "resolve") in {(each["session_id"], each["step"]) for each in found}

    offsets = itertools.count(16)
    await until(resolved, PATIENCE_SECONDS, "the end of what is no loop", notifier)
    told = [each.body["data"] for each in receiver.taken if each.body["data"]["step"] == "resolve"]
    assert [each["session_id"] for each in told] == ["s-1"]
    assert told[0]["summary"].startswith("coder-19 does not loop, a person says.")


async def test_a_sink_that_is_away_keeps_no_other_from_its_alerts_and_repeats_none_to_them(
    stage: Stage, receiver: Receiver
) -> None:
    async with receiving() as other:
        both = {"notify_pagerduty_key": "R0UT1NG", "notify_pagerduty_url": f"{other.url}/pd"}
        receiver.plan.extend([503] * 1_000)
        first = await notifying(stage, receiver, **both).ready()
        await put(stage, fields(), fields("recovered", 24))
        await other.has(2)
        await until(lambda: len(receiver.got) >= 2, PATIENCE_SECONDS, "tries", first)
        first.terminate()
        assert await first.ended() == 0
        receiver.plan.clear()
        await notifying(stage, receiver, **both).ready()
        await receiver.has(2)
        await all_committed(stage, 2)
        assert [each.body["event_action"] for each in other.got] == ["trigger", "resolve"]


@pytest.mark.kafka_only("the embedded broker adds no partitions")
async def test_on_partitions_that_the_topic_got_later_the_first_alerts_are_told(
    stage: Stage, receiver: Receiver
) -> None:
    first = await notifying(stage, receiver).ready()
    await put(stage, fields())
    await receiver.has(1)
    await all_committed(stage, 1)
    first.terminate()
    assert await first.ended() == 0
    grown = (Topic.SESSION_ALERTS, Topic.ALERT_DEAD_LETTERS, Topic.NOTIFY_STATE)
    admin = AIOKafkaAdminClient(bootstrap_servers=stage.broker.bootstrap)
    await admin.start()
    await admin.create_partitions({topic: NewPartitions(stage.partitions + 1) for topic in grown})
    await admin.close()
    encoder = Codec.bundled().encoder("session-alerts-value")
    alert = Outgoing(b"s-9", encoder.encode(fields(session="s-9")), NOW_MS, list(encoder.headers))
    async with connect(Connection(stage.broker.bootstrap)) as brokers:
        await brokers.write(Topic.SESSION_ALERTS, [(stage.partitions, alert)])
    await notifying(stage, receiver).ready()
    await receiver.has(2)
    assert receiver.ids() == ["s-1/0/6/loop_episode/opened", "s-9/0/6/loop_episode/opened"]


@pytest.mark.any_broker
async def test_a_thread_is_found_again_after_a_restart(stage: Stage, receiver: Receiver) -> None:
    bot = {
        "notify_slack_token": "xoxb-s3cret",
        "notify_slack_channel": "#agents",
        "notify_slack_url": f"{receiver.url}/api",
    }
    first = await stage.worker(command=("eddy", "notify"), **bot).ready()
    await put(stage, fields())
    await receiver.has(1)
    await all_committed(stage, 1)
    first.kill()
    await first.ended()
    second = await stage.worker(command=("eddy", "notify"), **bot).ready()
    await put(stage, fields("recovered", 24))
    post, reply, change = await receiver.has(3)
    assert [each.path for each in (post, reply, change)] == [
        "/api/chat.postMessage",
        "/api/chat.postMessage",
        "/api/chat.update",
    ]
    assert reply.body["thread_ts"] == change.body["ts"] == "1.000001"
    assert "xoxb-s3cret" not in first.log + second.log


@pytest.mark.any_broker
async def test_open_episodes_are_told_again_to_alertmanager_after_a_restart(
    stage: Stage, receiver: Receiver
) -> None:
    first = await stage.worker(command=("eddy", "notify"), notify_alertmanager_url=receiver.url).ready()
    await put(stage, fields(session="s-1"), fields(session="s-2"), fields("recovered", 9, session="s-2"))
    await receiver.has(3)
    await all_committed(stage, 3)
    first.kill()
    await first.ended()
    stage.worker(command=("eddy", "notify"), notify_alertmanager_url=receiver.url)
    again = (await receiver.has(4))[3]
    assert again.path == "/api/v2/alerts"
    assert again.body[0]["labels"]["session_id"] == "s-1"


async def test_brokers_that_are_away_are_waited_for(
    linked_stage: tuple[Stage, Link], receiver: Receiver
) -> None:
    stage, link = linked_stage
    notifier = await notifying(stage, receiver).ready()
    await put(stage, fields())
    await receiver.has(1)
    said = len(notifier.log)
    await link.cut()
    await until(lambda: len(notifier.log) > said, PATIENCE_SECONDS, "a word about it", notifier)
    link.heal()
    await put(stage, fields("recovered", 24))
    await until(
        lambda: "s-1/0/24/loop_episode/recovered" in receiver.ids(), PATIENCE_SECONDS, "the end", notifier
    )


@pytest.mark.any_broker
async def test_it_says_what_is_missing(stage: Stage) -> None:
    status, _, said = await stage.attempt("notify")
    assert status == 2
    assert "No receiver of alerts is set up" in said


@pytest.mark.any_broker
async def test_a_dry_run_prints_what_would_be_sent_and_commits_nothing(
    stage: Stage, receiver: Receiver
) -> None:
    await put(stage, fields(), fields("recovered", 24))
    settings = {"notify_webhook_url": f"{receiver.url}/s3cret", "notify_webhook_secret": SECRET}
    command = ("eddy", "notify", "--dry-run", "--from", "earliest")
    process = stage.worker(command=command, **settings)
    last = "webhook: resolve s-1/0/24/loop_episode/recovered"
    await until(lambda: last in process.log, PATIENCE_SECONDS, "both requests", process)
    process.terminate()
    assert await process.ended() == 0
    assert "s3cret" not in process.log
    assert receiver.got == []
    await notifying(stage, receiver, notify_from="earliest").ready()
    assert len(await receiver.has(2)) == 2

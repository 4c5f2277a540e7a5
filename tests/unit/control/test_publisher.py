"""The desk: each record in the partition of its key, signed, and nothing that breaks a rule."""

from __future__ import annotations

import json

import pytest
from eddy_client.protocol import HEADER, Action, Scope, Signature, Status, verified

from schemas.codec import Codec, OutputFormat
from streams.control.audit import AuditKind, AuditRecord
from streams.control.command import Command
from streams.control.outcome import Ack
from streams.control.publisher import CommandPublisher, audit_of, issued
from streams.core.domain.topic import Topic
from streams.core.errors import ConfigurationError, InfrastructureError
from streams.kafka.reading import partition_of
from tests.unit.control.samples import NOW, note, pause
from tests.unit.control.topics import Topics

KEY = b"a key of sixteen"


@pytest.fixture
def topics():
    return Topics()


def desk(topics, key=KEY, codec=None):
    return CommandPublisher(topics, codec or Codec.bundled(), key)


async def test_commands_of_a_session_stand_in_the_partition_of_its_key_in_their_order(topics):
    places = await desk(topics).issue([pause(), note(), pause(session_id="s-18")])
    first, second = partition_of(b"s-17", 5), partition_of(b"s-18", 5)
    assert places == [(first, 0), (first, 1), (second, 2 if first == second else 0)]
    assert [record.key for record in topics.on("session-commands")] == [b"s-17", b"s-17", b"s-18"]


@pytest.mark.parametrize("output_format", OutputFormat)
async def test_a_command_can_be_read_and_its_signature_checked(topics, output_format):
    codec = Codec.bundled(output_format)
    await desk(topics, codec=codec).issue([pause()])
    [record] = topics.on("session-commands")
    fields = codec.decoder("session-commands-value").decode(record.value, record.headers)
    assert Command.of(fields) == pause()
    assert verified(record.value, record.headers, [KEY]) is Signature.VALID
    assert record.timestamp == NOW


async def test_without_a_key_nothing_is_signed_and_the_desk_says_so(topics):
    unsigned = desk(topics, key=None)
    await unsigned.issue([pause()])
    [record] = topics.on("session-commands")
    assert HEADER not in dict(record.headers)
    assert (unsigned.signs, desk(topics).signs) == (False, True)


async def test_one_command_that_breaks_a_rule_keeps_all_back(topics):
    with pytest.raises(ConfigurationError, match="Say why"):
        await desk(topics).issue([pause(), pause(reason="")])
    assert topics.on("session-commands") == []


async def test_the_longest_command_fits_into_the_topic(topics):
    await desk(topics).issue(
        [note("\U0001f600" * 4_000, reason="\U0001f600" * 1_000, session_id="😀" * 1_000)]
    )


async def test_a_hold_stands_under_its_own_key(topics):
    await desk(topics).issue([pause(scope=Scope.AGENT, session_id=None, agent_id="coder-7")])
    assert [record.key for record in topics.on("session-commands")] == [b"agent/coder-7"]


async def test_acks_stand_where_the_commands_of_their_session_do_and_are_not_signed(topics):
    ack = Ack(id="i", session_id="s-17", status=Status.ATTACHED, at=NOW, guard_id="g")
    [(partition, _)] = await desk(topics).acknowledge([ack])
    assert partition == partition_of(b"s-17", 5)
    assert HEADER not in dict(topics.on("session-command-acks")[0].headers)


async def test_an_ack_that_is_too_large_is_refused(topics):
    ack = Ack(id="i", session_id="s", status=Status.FAILED, at=NOW, guard_id="g", detail="x" * 70_000)
    with pytest.raises(ConfigurationError, match=r"70,0.* bytes: 60,000 are possible"):
        await desk(topics).acknowledge([ack])


async def test_an_audit_record_says_where_it_stands(topics):
    record = AuditRecord(id="a", at=NOW, who="ana", kind=AuditKind.COMMAND, target="s-17", why="loops")
    assert await desk(topics).audit(record) == (partition_of(b"command", 5), 0)
    assert [each.key for each in topics.on("console-actions")] == [b"command"]


async def test_a_missing_topic_says_how_to_create_it():
    without = desk(Topics("session-commands"))
    with pytest.raises(ConfigurationError, match=r"no topic staging\.session-commands.*eddy topics apply"):
        await without.issue([pause()])


class FailingTopics(Topics):
    """Topics of which one takes nothing, from some number of records on."""

    def __init__(self, failing, after=0):
        super().__init__()
        self._failing, self._left = f"staging.{failing}", after

    async def write(self, topic, records):
        if topic == self._failing:
            if not self._left:
                raise InfrastructureError("The brokers refused the records.")
            self._left -= 1
        return await super().write(topic, records)


def audit(topics):
    decoder = Codec.bundled().decoder("console-actions-value")
    found = topics.on(Topic.CONSOLE_ACTIONS)
    return [AuditRecord.of(decoder.decode(each.value, tuple(each.headers))) for each in found]


async def issue(topics, *commands):
    desk = CommandPublisher(topics, Codec.bundled(), None)
    return await issued(desk, commands, audit_of(commands, "audit-1"))


async def test_the_record_comes_before_the_command_and_its_result_after():
    topics = Topics()
    [(partition, offset)] = await issue(topics, pause())
    before, after = audit(topics)
    assert (before.id, before.result, before.result_place) == ("audit-1", None, None)
    assert (after.id, after.result) == ("audit-1", "accepted")
    assert after.result_place == f"session-commands/{partition}/{offset}"
    assert (after.kind, after.target, after.who, after.at) == ("command", "s-17", "ana", NOW)


@pytest.mark.parametrize("topics", [Topics("console-actions"), FailingTopics("console-actions")])
async def test_what_the_audit_cannot_take_is_not_done(topics):
    with pytest.raises((ConfigurationError, InfrastructureError)):
        await issue(topics, pause())
    assert topics.on(Topic.SESSION_COMMANDS) == []


async def test_the_audit_has_what_failed():
    topics = FailingTopics("session-commands")
    with pytest.raises(InfrastructureError):
        await issue(topics, pause())
    assert [each.result for each in audit(topics)] == [None, "failed"]


async def test_what_was_done_stays_done_if_the_audit_does_not_take_the_result(caplog):
    topics = FailingTopics("console-actions", after=1)
    assert len(await issue(topics, pause())) == 1
    assert len(topics.on(Topic.SESSION_COMMANDS)) == 1
    assert "The audit of an action has no result" in caplog.text


async def test_an_action_on_several_sessions_is_one_record_with_all_of_them():
    topics = Topics()
    commands = [pause(session_id=each, action=Action.RESUME, on_timeout=None) for each in ("a", "b", "c")]
    assert len(await issue(topics, *commands)) == 3
    before, _ = audit(topics)
    assert before.target == "3 sessions"
    assert json.loads(before.request)["session_ids"] == ["a", "b", "c"]

"""The audit knows before anything is done, and how it ended."""

from __future__ import annotations

import json

import pytest
from eddy_client.protocol import Action

from schemas.codec import Codec
from streams.control.audit import AuditRecord
from streams.control.issuing import audit_of, issued
from streams.control.publisher import CommandPublisher
from streams.core.domain.topic import Topic
from streams.core.errors import ConfigurationError, InfrastructureError
from tests.unit.control.samples import NOW, pause
from tests.unit.control.topics import Topics


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

"""Commands, acks and audit records through their schemas and back."""

from __future__ import annotations

import pytest
from eddy_client.protocol import FINAL, PRESENCE, Scope, Status
from hypothesis import given

from schemas.codec import Codec, OutputFormat
from schemas.encoder import check_fields
from streams.control.audit import AuditKind, AuditRecord
from streams.control.command import Command, MalformedError
from streams.control.outcome import Ack
from tests.unit.control.samples import ACKS, COMMANDS, NOW, RECORDS, note, pause

CODECS = {each: Codec.bundled(each) for each in OutputFormat}
SUBJECTS = {
    Command: "session-commands-value",
    Ack: "session-command-acks-value",
    AuditRecord: "console-actions-value",
}
PATHS = {
    (each, kind): (codec.encoder(subject), codec.decoder(subject))
    for each, codec in CODECS.items()
    for kind, subject in SUBJECTS.items()
}


def through(record: Command | Ack | AuditRecord, output_format: OutputFormat) -> object:
    encoder, decoder = PATHS[output_format, type(record)]
    return type(record).of(decoder.decode(encoder.encode(record.fields()), encoder.headers))


@pytest.mark.parametrize("output_format", OutputFormat)
@given(command=COMMANDS)
def test_a_command_comes_back_as_it_was(output_format: OutputFormat, command: Command) -> None:
    assert through(command, output_format) == command


@pytest.mark.parametrize("output_format", OutputFormat)
@given(ack=ACKS)
def test_an_ack_comes_back_as_it_was(output_format: OutputFormat, ack: Ack) -> None:
    assert through(ack, output_format) == ack


@pytest.mark.parametrize("output_format", OutputFormat)
@given(record=RECORDS)
def test_an_audit_record_comes_back_as_it_was(output_format: OutputFormat, record: AuditRecord) -> None:
    assert through(record, output_format) == record


@given(command=COMMANDS, ack=ACKS, record=RECORDS)
def test_the_schemas_know_every_field(command: Command, ack: Ack, record: AuditRecord) -> None:
    for each in (command, ack, record):
        check_fields(SUBJECTS[type(each)], each.fields())


def test_avro_names_its_schema_in_a_header() -> None:
    encoder, _ = PATHS[OutputFormat.AVRO, Command]
    assert encoder.headers == (("eddy-schema", b"session-commands-value/1"),)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"command_id": 7}, "command_id must be text"),
        ({"issued_at": True}, "issued_at must be a whole number"),
        ({"expires_at": 1.5}, "expires_at must be a whole number"),
        ({"message": ["a"]}, "message must be text"),
        ({"issuer": None}, "issuer must be an object"),
        ({"issuer": {"kind": "cli"}}, "name must be text"),
        ({"cause": "the alert"}, "cause must be an object"),
        ({"policy": {"name": "x"}}, "version must be a whole number"),
    ],
)
def test_a_malformed_command_names_the_field(change: dict[str, object], named: str) -> None:
    with pytest.raises(MalformedError, match=named):
        Command.of({**pause().fields(), **change})


def test_a_malformed_ack_or_audit_record_names_the_field() -> None:
    with pytest.raises(MalformedError, match="session_id must be text"):
        Ack.of({"id": "a"})
    with pytest.raises(MalformedError, match="who must be text"):
        AuditRecord.of({"id": "a", "at": 1})


@pytest.mark.parametrize(
    ("command", "key"),
    [
        (pause(), b"s-17"),
        (pause(scope=Scope.AGENT, session_id=None, agent_id="coder-7"), b"agent/coder-7"),
        (pause(scope=Scope.ALL, session_id=None), b"all"),
    ],
)
def test_the_key_names_whom_a_command_is_for(command: Command, key: bytes) -> None:
    assert command.key == key


def test_a_command_for_nobody_has_no_key() -> None:
    for command in (pause(session_id=None), pause(scope="cluster"), pause(scope=Scope.AGENT)):
        with pytest.raises(MalformedError, match="whom it is for"):
            _ = command.key


def test_a_command_concerns_its_session_and_a_hold_the_sessions_it_covers() -> None:
    of_agent = pause(scope=Scope.AGENT, session_id=None, agent_id="coder-7")
    of_all = pause(scope=Scope.ALL, session_id=None)
    assert pause().concerns("s-17", None)
    assert not pause().concerns("s-18", None)
    assert of_agent.concerns("s-18", "coder-7")
    assert not of_agent.concerns("s-18", "coder-8")
    assert not of_agent.concerns("s-18", None)
    assert of_all.concerns("s-18", None)
    assert not pause(scope="cluster").concerns("s-17", None)
    assert (pause().is_hold, of_agent.is_hold, of_all.is_hold) == (False, True, True)


def test_triage_of_an_episode_has_one_order_and_other_actions_that_of_their_kind() -> None:
    record = AuditRecord(id="a", at=NOW, who="ana", kind=AuditKind.TRIAGE, target="648a091e5f3486a0")
    assert record.key == b"648a091e5f3486a0"
    assert AuditRecord(id="a", at=NOW, who="ana", kind=AuditKind.COMMAND, target="s-17").key == b"command"


def test_presence_belongs_to_no_command_and_is_never_the_end_of_one() -> None:
    assert not PRESENCE & FINAL
    assert Status.APPLIED not in FINAL


def test_a_note_is_a_command_like_any_other() -> None:
    assert through(note("a\nb"), OutputFormat.AVRO) == note("a\nb")

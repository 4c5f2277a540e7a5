"""The agents of this machine: judged from their logs, asked by the policy, and answered at their hooks."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import orjson
from eddy_client.integrations.guarded import PAUSED, words_of
from eddy_client.protocol import LONGEST_MS, LONGEST_REASON, Action, Scope

from schemas.codec import Codec, OutputFormat
from streams.cli.settings_change import user
from streams.cli.top.log_source import LogSource
from streams.cli.top.picture import NewestSteps, ReadingProgress
from streams.cli.watch.hook_server import HookReply, HookServer
from streams.cli.watch.journal import Journal
from streams.cli.watch.local_guard import LocalGuard
from streams.cli.watch.news import alert_news, control_news
from streams.console.action_context import ModelKnown
from streams.console.command_form import Who, labels_of, triage_of
from streams.console.interventions.deciding import Deciding
from streams.console.interventions.versions import in_force, next_document, policy_versions
from streams.console.read_model.model import ReadModel
from streams.control.audit import uuid7
from streams.control.command import Command, Issuer, IssuerKind
from streams.control.label import LabelWord
from streams.control.publisher import CommandPublisher, audit_of, issued
from streams.core.detectors.settings import DetectionSettings
from streams.core.domain.text.figures import clock, count
from streams.core.domain.topic import Topic
from streams.core.entry import Entry
from streams.core.errors import ConfigurationError, EddyError
from streams.core.policy.intervention import Mode
from streams.core.policy.intervention_document import document, read
from streams.formats.adapters.conversation import Conversation
from streams.formats.agent_hooks.program import HookAnswer, HookDecision, HookEvent, HookMoment, HookProgram
from streams.formats.agent_hooks.registry import PROGRAMS
from streams.formats.format_detection import FormatDetection
from streams.formats.ingest.sink import SentRecord
from streams.kafka.stored import Stored
from streams.observe.stop_signals import all_of

log = logging.getLogger(__name__)

NOTES_ALONE: Final[Mapping[str, Any]] = {
    "mode": "live",
    "rules": [
        {
            "name": "tell-it",
            "when": {"level": "LOOP"},
            "do": {"action": "inject_message"},
            "limits": {"per_10_min": 60, "max_share_of_live": 1.0},
        }
    ],
    "limits": {"per_hour_per_agent": 60},
}
"""What is done unless a policy says otherwise: an agent that loops is told so, once for each loop."""

_PAUSE_MS: Final = 3_600_000
_NEWS_MS: Final = 60_000
_SHOWN_MS: Final = 120_000
_MOST_REPORTED: Final = 1_000
_MOST_ACTIONS: Final = 10_000
_LONGEST_WAIT_S: Final = 3_600.0


class WatchSource:
    """Follows the logs of this machine, and answers its hooks, until it is cancelled.

    Args:
        paths: Files, folders and patterns of logs.
        formats: Finds the format of each.
        settings: What is judged under.
        policy: The document of the policy.
        now: Returns the time in milliseconds since 1970.
        within_ms: A file that has not changed for longer is not opened until it changes.
        journal: File in which it is kept what was asked of whom.
        address: Where the socket for the hooks is.
        tell: Takes a sentence about what happened just now.

    Attributes:
        asked: how many times hooks have asked.

    Raises:
        ConfigurationError: the policy or the file of the journal is wrong.
    """

    stop = "eddy guard pause"

    def __init__(
        self,
        paths: Sequence[str],
        formats: FormatDetection,
        settings: DetectionSettings,
        policy: Mapping[str, Any],
        now: Callable[[], int],
        within_ms: int,
        *,
        journal: Path,
        address: Path,
        tell: Callable[[str], None] = lambda _sentence: None,
    ) -> None:
        self.asked = 0
        self._tell, self._actions = tell, dict[str, str]()
        self._told: tuple[int, str] = (0, "")
        self._clock = now
        self._logs = LogSource(paths, formats, settings, now, within_ms, self._alerted)
        self._guard = LocalGuard(self._acknowledge, now)
        self._server = HookServer(address, self._answer)
        self._reports: dict[str, Conversation] = {}
        self._policy, self._journal_path = policy, journal
        self._deciding: Deciding | None = None
        self._journal: Journal | None = None
        self._publisher: CommandPublisher | None = None

    @property
    def model(self) -> ReadModel:
        """Picture of what was read so far."""
        return self._logs.model

    @property
    def steps(self) -> NewestSteps:
        """What agents did last."""
        return self._logs.steps

    async def call_wrong(self, session_id: str) -> None:
        """Say that a session is not a loop: it needs nobody any more, and no further note comes for it.

        Raises:
            ConfigurationError: nothing is known against it.
        """
        about, now = self.model.attention(self._clock()).get(session_id), self._clock()
        if about is None or self._publisher is None:
            raise ConfigurationError("Nothing is known against it any more")
        issuer = Issuer(kind=IssuerKind.CLI, name=user())
        who = Who(issuer=issuer, now=now, new_id=lambda: uuid7(now, os.urandom(10)))
        known, form = ModelKnown(self.model, self._clock), {"episode_ids": [about.subject]}
        records = triage_of({**form, "do": [LabelWord.NOT_A_LOOP]}, who, known.seen)
        await self._publisher.audit_all(records)
        await self._publisher.label(labels_of(records, LabelWord.NOT_A_LOOP, known.facts))

    async def caught_up(self) -> None:
        """Wait until all that stands in the files is judged."""
        await self._logs.caught_up()

    def reading(self) -> ReadingProgress:
        """Return how far the reading is, and whether hooks have asked."""
        reading = self._logs.reading()
        hooks = f"{count(self.asked, 'hook')} answered" if self.asked else "no hook has asked yet"
        at, told = self._told
        news = (f"{clock(at)} {told}",) if at > self._clock() - _SHOWN_MS else ()
        notices = (*reading.notices, *news)
        return reading._replace(source=f"{reading.source} · {hooks}", notices=notices, program="eddy watch")

    async def run(self) -> None:
        """Read, decide and answer for ever.

        Raises:
            ConfigurationError: another watch runs here, or the policy is wrong.
        """
        self._journal = Journal(self._journal_path, self._fold, self._clock())
        try:
            codec = Codec.bundled(OutputFormat.JSON)
            self._publisher = CommandPublisher(self._journal, codec, key=None)
            self._publish()
            await self._server.start()
            self._deciding = Deciding(self.model, self._publisher, _Folded(), self._clock)
            await all_of([self._logs.run(), self._deciding.run()])
        finally:
            await self._server.stop()
            self._journal.close()

    def _publish(self) -> None:
        """Put the policy in force: a limit that was reached before holds nothing back any more."""
        before = in_force(policy_versions(self.model.ledger.versions.values()))
        after, problems = read(self._policy, before.version + 1)
        if problems:
            raise ConfigurationError(f"The policy is not what it should be. {' '.join(problems)}")
        body, _ = next_document(before, document(after), before.version + 1, {"by": user()})
        assert self._journal is not None
        self._journal.add(Topic.INTERVENTION_POLICY, b"", body, self._clock())
        if after.mode is not Mode.LIVE:
            self._say(f"The mode of the policy is {after.mode}: no agent is told anything", self._clock())

    def _fold(self, topic: Topic, stored: Stored, fields: Mapping[str, Any]) -> None:
        if not self.model.take(topic, stored, fields):
            return  # somebody has written into the journal
        if topic is Topic.SESSION_COMMANDS:
            self._guard.command(fields, stored.offset)
            self._actions[fields["command_id"]] = fields["action"]
            if len(self._actions) > _MOST_ACTIONS:
                del self._actions[next(iter(self._actions))]
        elif topic is Topic.SESSION_COMMAND_ACKS:
            self._guard.answered(fields)
        self._say(control_news(topic, fields, self._actions), stored.timestamp)

    def _alerted(self, record: Stored, fields: Mapping[str, Any]) -> None:
        self._say(alert_news(fields), record.timestamp)
        if self._deciding is not None:
            self._deciding.on_alert(record, fields)

    def _say(self, news: str | None, at: int) -> None:
        """Tell what happened just now, and not what stands in a log of yesterday."""
        if news is not None and abs(self._clock() - at) < _NEWS_MS:
            self._told = self._clock(), news
            with suppress(OSError):  # whoever read it is gone, and agents are still asked
                self._tell(news)

    def _acknowledge(self, ack: dict[str, Any]) -> None:
        assert self._journal is not None
        self._journal.add(Topic.SESSION_COMMAND_ACKS, ack["session_id"].encode(), ack, ack["at"])

    async def _answer(self, request: Mapping[str, Any], waits: Callable[[], None]) -> HookReply:
        """Answer a hook, or what a person asks for.

        Raises:
            EddyError: it cannot be answered.
        """
        match request:
            case {
                "hook": str(name),
                "moment": str(at),
                "event": dict(fields),
                "within": int() | float() as within,
            }:
                if name not in PROGRAMS or at not in tuple(HookMoment):
                    raise ConfigurationError(f"There is no hook {name[:40]!r} {at[:40]!r}. Install it again")
                return await self._hook(PROGRAMS[name], HookMoment(at), fields, within, waits)
            case {"action": str(action), "session": str(session_id), "why": str(why)}:
                message = request.get("message")
                words = message if isinstance(message, str) else None
                return HookReply(await self._command(action, session_id, why, words))
            case {"ping": True}:
                return HookReply("")
        raise ConfigurationError("This watch does not know what was asked. Is the hook of another version?")

    async def _hook(
        self,
        program: HookProgram,
        moment: HookMoment,
        fields: Mapping[str, Any],
        within: float,
        waits: Callable[[], None],
    ) -> HookReply:
        self.asked += 1
        event = program.event(fields)
        if event is None:
            raise ConfigurationError(f"A hook of {program.title} named no session: it has changed")
        if moment is HookMoment.AFTER and not program.has_log:
            await self._judge(program, event)
        self._logs.look(event.session_id)
        session = self._guard.session(event.session_id, program.name, program.name)
        session.checkpoint = event.call_id
        hands_over = moment in program.notes
        if moment is HookMoment.BEFORE:
            longest = min(within, _LONGEST_WAIT_S)
            outcome = await self._guard.wait(session, longest, waits, hands_over=hands_over)
        else:
            outcome = self._guard.check(session, hands_over=hands_over)
        answer = _answer_of(outcome.level, outcome.by.reason if outcome.by else "", outcome.notes, moment)
        if answer is None:
            return HookReply("")
        return HookReply(
            orjson.dumps(program.answered(moment, answer)).decode(),
            sent=lambda: self._guard.delivered(session, outcome),
            lost=lambda: self._guard.lost(session, outcome),
        )

    async def _judge(self, program: HookProgram, event: HookEvent) -> None:
        """Judge a call by what its hook was given, of a program whose log is not read."""
        if event.tool is None:
            return
        conversation = self._reports.pop(event.session_id, None)
        if conversation is None:
            conversation = Conversation(event.session_id, program.name, program.name)
        self._reports[event.session_id] = conversation
        if len(self._reports) > _MOST_REPORTED:
            del self._reports[next(iter(self._reports))]
        now = self._clock()
        call_id = event.call_id or uuid7(now, os.urandom(10))
        found = [*conversation.call(call_id, event.tool, event.input)]
        found += conversation.answer(call_id, event.output, now, event.status)
        values = [each.value for each in found if isinstance(each, Entry) and each.value is not None]
        await self._logs.judging.write([SentRecord(value, program.name) for value in values])

    async def _command(self, action: str, session_id: str, why: str, message: str | None) -> str:
        """Do what a person at a shell asks for; return what is wrong with it, empty if nothing is."""
        if session_id not in self.model.cases and not self._guard.holds(session_id):
            return (
                f"No session of the name {session_id[:200]} is known here. `eddy watch` lists those that loop"
            )
        now = self._clock()
        command = Command(
            command_id=uuid7(now, os.urandom(10)),
            scope=Scope.SESSION,
            action=action,
            issued_at=now,
            # An abort is for good, as long as a command may last.
            expires_at=now + (LONGEST_MS if action == Action.ABORT else _PAUSE_MS),
            reason=why[:LONGEST_REASON],
            issuer=Issuer(kind=IssuerKind.CLI, name=user()),
            session_id=session_id,
            on_timeout="resume" if action == Action.PAUSE else None,
            message=message,
        )
        assert self._publisher is not None
        try:
            await issued(self._publisher, [command], audit_of([command], uuid7(now, os.urandom(10))))
        except EddyError as error:
            return str(error)
        return ""


class _Folded:
    """What a policy waits for: here a record is folded as soon as it is written."""

    async def caught_up(self, topics: Iterable[Topic]) -> None:
        """Return at once."""

    async def passed(self, topic: Topic, partition: int, offset: int) -> bool:  # noqa: ARG002 - a protocol
        """Return that it is so."""
        return True


def _answer_of(level: str, reason: str, notes: Sequence[Any], moment: HookMoment) -> HookAnswer | None:
    """Return what a hook answers; None if the agent simply goes on."""
    if level == "aborted":
        return HookAnswer(HookDecision.END, f"This session was ended: {reason}")
    if level == "paused":
        return HookAnswer(HookDecision.REFUSE, PAUSED) if moment is HookMoment.BEFORE else None
    if notes:
        return HookAnswer(HookDecision.NOTE, "\n".join(map(words_of, notes)))
    return None

"""The read model: every record of Eddy's topics, folded; what changed; and what may be forgotten.

Records may come in any order, more than once, and with pauses of any length in between: the rows are those of
the sorted records. The model reads no clock and no broker. The moment comes in where it matters, and rows of
sessions that it forgot come back through `Recall`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import chain, islice
from typing import Final
from zlib import crc32

from streams.console.read_model import control, episode, health, letters, settings, triage
from streams.console.read_model.attention import Attention, Surroundings, attention, control_at
from streams.console.read_model.case import FOREVER, Case
from streams.console.read_model.control import ControlState, Hold, hold_of
from streams.console.read_model.forgotten import announced, forgotten_by, is_forgotten
from streams.console.read_model.memory import Memory, Recall, nothing
from streams.console.read_model.place import NOWHERE, Fields, place
from streams.console.read_model.rows import ForgottenRow
from streams.console.read_model.seen import LiveCount
from streams.console.read_model.session import enriched_place, source_place
from streams.core.domain.erasure import session_digest
from streams.core.domain.event_kind import EventKind
from streams.core.domain.run import StoredRecord
from streams.core.domain.topic import Topic
from streams.core.policy.silence import SILENT

#: One record in so many of a session that is not watched is read whole.
SAMPLED: Final = 64

#: What a record raises that is not what its topic promises.
_MISFITS: Final = (KeyError, TypeError, ValueError, AttributeError, OverflowError)

_MINUTE_MS: Final = 60_000
_DOCUMENTS: Final = frozenset({Topic.DETECTOR_CONFIG, Topic.SHADOW_CONFIG, Topic.INTERVENTION_POLICY})

#: The number of live sessions is counted again after so long.


def _session_id(source: StoredRecord) -> str | None:
    """Return the session of an enriched record, None if its key is none."""
    if source.key is None:
        return None
    try:
        return source.key.decode()
    except UnicodeDecodeError:
        return None


class ReadModel(Memory):
    """Everything the console knows: `take` folds a record, the questions at the end are about a moment.

    Attributes:
        pages: the sessions that somebody looks at: their records are read whole.
        live_ms: a session without a record for so long is not live.
    """

    def __init__(self, *, recall: Recall = nothing, live_minutes: int = 15, live_max: int = 200_000) -> None:
        super().__init__(recall)
        self.pages: frozenset[str] = frozenset()
        self.live_ms = live_minutes * _MINUTE_MS
        self._live_max = live_max
        self._attention: dict[str, Attention] = {}
        self._due = FOREVER
        self._live = LiveCount()
        self._takers: Final[Mapping[Topic, Callable[[StoredRecord, Fields], None]]] = {
            Topic.ENRICHED: self._enriched,
            Topic.SESSION_ALERTS: self._alert,
            Topic.ENTROPY_ALERTS: self._entropy,
            Topic.TOPOLOGY: self._node,
            Topic.SESSION_BUDGETS: self._budget,
            Topic.SESSION_RESPONSES: self._response,
            Topic.AGENT_HEALTH: lambda source, fields: self.put(health.health_of(fields, source)),
            Topic.TASK_PROFILES: lambda source, fields: self.put(health.profile_of(fields, source)),
            Topic.SHADOW_DIFFERENCES: self._difference,
            Topic.SESSION_COMMANDS: self._command,
            Topic.SESSION_COMMAND_ACKS: self._ack,
            Topic.CONSOLE_ACTIONS: self._action,
        }

    def clear(self) -> None:
        """Forget everything, as if nothing had been folded yet."""
        super().clear()
        self._attention.clear()
        self._due = FOREVER

    def take(self, topic: Topic, source: StoredRecord, fields: Fields | None) -> bool:
        """Fold one record; return False if it is not what its topic promises.

        Args:
            topic: without the prefix of the cluster.
            source: Place of the record that is taken in.
            fields: its decoded value; None of a tombstone, of a dead letter, and if it was not decoded.
        """
        try:
            if self.ledger.forgotten and self._is_of_forgotten(topic, source, fields):
                return True
            if topic is Topic.DEAD_LETTERS:
                self.put(letters.letter_of(source))
            elif topic is Topic.REDRIVEN:
                if (mark := letters.redriven_of(source)) is not None:
                    self.put(mark)
            elif topic in _DOCUMENTS:
                self.put(settings.version_of(str(topic), source, fields))
            elif fields is not None:
                self._takers[topic](source, fields)
            elif topic is Topic.ENRICHED:
                self.index(topic, source)
            elif topic is Topic.TOPOLOGY and (gone := forgotten_by(source)) is not None:
                self.erase(gone, [(source.key or b"").decode()])
        except _MISFITS:
            return False
        return True

    def _is_of_forgotten(self, topic: Topic, source: StoredRecord, fields: Fields | None) -> bool:
        ledger = self.ledger
        if topic is Topic.CONSOLE_ACTIONS and fields is not None and fields.get("target") in ledger.gone:
            return True
        if not is_forgotten(ledger.forgotten, topic, source, fields):
            return False
        if fields is not None and isinstance(episode_id := fields.get("episode_id"), str):
            # Decisions about it name it alone.
            ledger.erase_decisions({episode_id})
        return True

    def index(self, topic: Topic, source: StoredRecord) -> None:  # noqa: ARG002  # one topic is indexed
        """Take in that there is an enriched record, whose value was not decoded."""
        if (session_id := _session_id(source)) is None:
            return
        case = self.cases.get(session_id) or self.case(session_id)
        case.session.places.add(source.partition, source.offset)
        self.seen(case, source.timestamp)

    def wants_value(self, source: StoredRecord) -> bool:
        """Tell whether an enriched record has to be decoded.

        It has to be if it is the first of its session, also after an end, or if somebody watches: a page, an
        episode, a drift or a command. One record in `SAMPLED` of the others is.
        """
        if (session_id := _session_id(source)) is None:
            return False
        case = self.cases.get(session_id)
        if case is None or case.session.about_place == NOWHERE or case.session.ended:
            return True
        now = source.timestamp
        if now < case.watch_until or session_id in self.pages or self._is_held(case, now):
            return True
        return crc32(source.offset.to_bytes(8, "big"), crc32(source.key or b"")) % SAMPLED == 0

    def _is_held(self, case: Case, now: int) -> bool:
        if not self._held_until:
            return False
        of_agent = self._held_until.get(f"agent/{case.session.agent_id}", NOWHERE)
        return now < max(of_agent, self._held_until.get("all", NOWHERE))

    def _event(self, source: StoredRecord, fields: Fields) -> tuple[Case, int]:
        case, at = self.case(fields["session_id"]), source_place(fields)
        case.session.said_by(at, fields["agent_id"])
        self.seen(case, source.timestamp)
        return case, at

    def _enriched(self, source: StoredRecord, fields: Fields) -> None:
        case, at = self.case(fields["session_id"]), enriched_place(fields)
        case.session.enriched(at, source.timestamp, fields)
        case.session.places.add(source.partition, source.offset)
        case.session.read_place = max(case.session.read_place, place(source.partition, source.offset))
        self.seen(case, source.timestamp)
        case.watch()

    def _alert(self, source: StoredRecord, fields: Fields) -> None:
        finding = episode.finding_of(fields)
        row = episode.episode_of(fields) if fields["event_type"] == "loop_episode" else None
        if fields["event_type"] == EventKind.SILENT_SESSION and fields["phase"] == SILENT:
            # It comes long after the record that it is about, and says that none came since.
            case = self.case(fields["session_id"])
            case.session.said_by(source_place(fields), fields["agent_id"])
            self.seen(case, fields["timestamp"])
        else:
            case, _ = self._event(source, fields)
        self.put_in(case, finding)
        if row is not None:
            self.put_in(case, row)

    def _entropy(self, source: StoredRecord, fields: Fields) -> None:
        row = episode.entropy_of(fields)
        case, _ = self._event(source, fields)
        self.put_in(case, row)

    def _node(self, source: StoredRecord, fields: Fields) -> None:
        case, at = self._event(source, fields)
        case.session.becomes(at, fields["state"])

    def _budget(self, source: StoredRecord, fields: Fields) -> None:
        case, at = self._event(source, fields)
        case.session.budgets(at, fields)
        case.watch()

    def _response(self, source: StoredRecord, fields: Fields) -> None:
        case, at = self._event(source, fields)
        case.session.drifts(at, fields["level"], fields["overall"])
        case.watch()

    def _difference(self, source: StoredRecord, fields: Fields) -> None:  # noqa: ARG002
        self.put(settings.shadow_of(fields))
        self.count(fields)

    def _command(self, source: StoredRecord, fields: Fields) -> None:
        row = control.command_of(fields, source)
        if row.session_id is not None:
            self.put_in(self.case(row.session_id), row)
        elif row.scope == "all" or (row.scope == "agent" and row.agent_id is not None):
            self.put_hold(row)

    def _ack(self, source: StoredRecord, fields: Fields) -> None:
        guard, ack = control.guard_of(fields, source), control.ack_of(fields, source)
        case = self.case(fields["session_id"])
        self.put_in(case, guard)
        if ack is not None:
            self.put_in(case, ack)

    def _action(self, source: StoredRecord, fields: Fields) -> None:
        self._announced(announced(source, fields))
        action, decided = triage.action_of(fields, source), triage.triage_of(fields, source)
        self.put(action)
        if decided is not None:
            self.put(decided)

    def _announced(self, rows: Iterable[ForgottenRow]) -> None:
        """Forget who the audit says is to be forgotten; it names digests."""
        gone = {row.digest: row for row in rows if not self.ledger.forgotten.knows(row)}
        named: dict[str, str] = {}
        if gone:
            for session_id in chain(self.cases, self.ledger.sessions()):
                if (digest := session_digest(session_id)) in gone:
                    named[digest] = session_id
        for digest, row in gone.items():
            self.erase(row, [named[digest]] if digest in named else [])

    def attention(self, now: int) -> Mapping[str, Attention]:
        """Return what needs an operator at a moment, by session."""
        found = self._attention
        if now >= self._due:
            self._touched.update(each for each, about in found.items() if now >= about.until)
            self._due = FOREVER
        if self._touched:
            around = Surroundings(self.ledger.triage, self.holds, self.live_ms)
            for session_id in self._touched:
                case = self.cases.get(session_id)
                about = None if case is None else attention(case, around, now)
                if about is None:
                    found.pop(session_id, None)
                else:
                    found[session_id] = about
            self._touched.clear()
            self._due = min((about.until for about in found.values()), default=FOREVER)
        return found

    def about(self, session_id: str, now: int) -> Attention | None:
        """Return why a session needs an operator at a moment; None if it does not."""
        return self.attention(now).get(session_id)

    def control(self, session_id: str, now: int) -> ControlState:
        """Return what control means for a session at a moment."""
        case = self.cases.get(session_id)
        return ControlState() if case is None else control_at(case, self.holds, now)

    def holds_in_force(self, now: int) -> list[Hold]:
        """Return the holds in force at a moment, that of everything first."""
        found = []
        for key in sorted(self.holds, key=lambda key: (key != "all", key)):
            level = control.newest_level(self.holds[key].values())
            cases = [case for case in self.cases.values() if key in {"all", f"agent/{case.session.agent_id}"}]
            acks = [
                ack
                for case in cases
                for ack in case.acks.values()
                if level is not None and ack.command_id == level.command_id
            ]
            guards = (guard for case in cases for guard in case.guards.values())
            if (hold := hold_of(self.holds[key].values(), acks, guards, now)) is not None:
                found.append(hold)
        return found

    def live(self, now: int) -> int:
        """Return how many sessions had a record lately, as counted within the last five seconds."""
        return self._live.at(now, self.cases.values, self.live_ms)

    def behind(self, now: int, most: int) -> dict[str, tuple[int, int]]:
        """Return sessions that are watched, but whose newest record was not read whole.

        An alert comes after the records that it is about, and those may have been passed over by then. What
        comes later is read anyway.

        Args:
            now: Time of the call, in milliseconds since 1970.
            most: How many at most.

        Returns:
            The place of that record on decision-logs-enriched, by session.
        """
        cases = (self.cases.get(each) for each in chain(self.pages, self.attention(now)))
        sampled = (
            case.session
            for case in cases
            if case is not None
            and (now < case.watch_until or case.session.session_id in self.pages)
            and case.session.is_sampled
        )
        return {each.session_id: each.places.last for each in islice(sampled, most)}

    # -- forgetting

    def forget(self, now: int) -> int:
        """Forget sessions that are over or silent and need nothing; return how many.

        Call it when what `drain` returned is in the archive: what is forgotten comes back from there.
        Sessions that need an operator stay, also above the limit.
        """
        needed = self.attention(now)
        waiting = self._pending()
        free = [
            session_id
            for session_id, case in self.cases.items()
            if session_id not in needed
            and session_id not in self.pages
            and session_id not in waiting
            and (case.watch_until == FOREVER or now >= case.watch_until)
        ]
        since = now - self.live_ms
        gone = [each for each in free if (self.cases[each].session.last_ts or 0) < since]
        excess = len(self.cases) - len(gone) - self._live_max
        if excess > 0:
            rest = set(free).difference(gone)
            gone += sorted(rest, key=lambda each: (self.cases[each].session.last_ts or 0, each))[:excess]
        for session_id in gone:
            self._drop(session_id)
        for session_id, case in self.cases.items():
            if session_id not in waiting:
                case.trim()
        self.ledger.trim(self.changed)
        return len(gone)

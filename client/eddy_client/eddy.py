"""The producer: what an agent's process has of Eddy."""

from __future__ import annotations

import atexit
import logging
import os
import time
import uuid
import weakref
from collections.abc import Callable, Mapping
from typing import Any

from eddy_client.backlog import Backlog
from eddy_client.rare_log import RareLog
from eddy_client.record import Act, Agent, decision_log
from eddy_client.sender import Sender
from eddy_client.session import Session
from eddy_client.stats import Stats
from eddy_client.texts import LONGEST_NAME, LONGEST_TEXT, Text, bounded, path_in, silent_intent
from eddy_client.transport import FileTransport, Transport

log = logging.getLogger("eddy_client")
log.addFilter(RareLog())

_LONGEST_WORDS = 500


class Eddy:
    """Sends records of what an agent does, from a thread of its own.

    After it is made, nothing of it raises or waits. If the queue is full, the newest record is dropped and
    counted, and the next record of that session says how many are missing (`control.interrupt_signal` is
    `gap:<n>`). A process that forks has a queue and a thread of its own in the child. At the end of the
    process up to two seconds are given to what still waits.

    Args:
        servers: Kafka brokers, `host:port` separated by commas; None writes a file instead.
        agent: The agent's name.
        agent_type: The kind of agent; by default its name.
        version: Of the agent.
        topic: Where records go.
        file: The file, if there are no brokers.
        kafka: Options of librdkafka, such as `security.protocol`.
        most_records: How many records may wait.
        most_bytes: How many bytes of texts may wait.

    Raises:
        ImportError: Kafka is wanted, and the extra `kafka` is not installed.
        ValueError: an option of Kafka does not exist, or has no such value.
    """

    def __init__(
        self,
        servers: str | None,
        *,
        agent: str,
        agent_type: str | None = None,
        version: str | None = None,
        topic: str = "decision-logs",
        file: str = "eddy.jsonl",
        kafka: Mapping[str, Any] | None = None,
        most_records: int = 10_000,
        most_bytes: int = 16 << 20,
    ) -> None:
        name = bounded(agent, LONGEST_NAME).text
        kind = name if agent_type is None else bounded(agent_type, LONGEST_NAME).text
        self._agent = Agent(name, kind, None if version is None else bounded(version, LONGEST_NAME).text)
        self._limits = most_records, most_bytes
        self._new_transport = _transport(servers, topic, file, dict(kafka or {}))
        first = self._new_transport()  # here, so that what is wrong with the options is raised
        self._backlog = Backlog(*self._limits)
        self._sender = Sender(self._backlog, lambda: first, log)
        self._closed = False
        self._begin()
        _living.add(self)

    def session(
        self, session_id: str, *, goal: object = None, task_type: object = None, parent: str | None = None
    ) -> Session:
        """Return a session.

        Args:
            session_id: Its id, the same for all its records.
            goal: What it is for, in a sentence or a few.
            task_type: Which kind of task it is, such as `fix` or `research`.
            parent: The id of the session that started this one.
        """
        above = None if parent is None else bounded(parent, LONGEST_NAME).text or None
        name = bounded(session_id, LONGEST_NAME).text or uuid.uuid4().hex
        return Session(self, name, goal, task_type, above)

    @property
    def stats(self) -> Stats:
        """What has become of the records of this process."""
        return Stats(
            sent=self._sender.sent,
            dropped_full=self._dropped_full,
            dropped_error=self._dropped_error + self._sender.failed,
            truncated=self._truncated,
            waiting=len(self._backlog),
        )

    def close(self, timeout: float = 2.0) -> None:
        """Send what waits, for so many seconds at most. What comes later is dropped."""
        if not self._closed:
            self._closed = True
            self._sender.close(timeout)

    def _begin(self) -> None:
        self._run = uuid.uuid4().hex
        self._number = 0
        self._dropped_full = self._dropped_error = self._truncated = 0
        self._closed = False
        self._sender.start()

    def _begin_in_child(self) -> None:
        """Begin again after a fork: what waits is the parent's to send, and threads do not come along."""
        # Never closed here: the client library would wait for threads that are not there.
        _of_parents.append(self._sender)
        self._backlog = Backlog(*self._limits)
        self._sender = Sender(self._backlog, self._new_transport, log)
        self._begin()

    def _send(self, session: Session, **what: Any) -> None:
        """Make and queue a record. Nothing that the agent hands over makes this raise."""
        try:
            self._queue(session, **what)
        except Exception as error:  # noqa: BLE001 - the agent must go on
            self._dropped_error += 1
            log.warning("A record for Eddy could not be made: %s", type(error).__name__)

    def _queue(
        self,
        session: Session,
        *,
        kind: str,
        status: str,
        tool: object = None,
        arguments: Text | None = None,
        given: object = None,
        intent: object = None,
        target: object = None,
        output: object = None,
        terminal: bool = False,
        round_id: str | None = None,
    ) -> None:
        at_ms = time.time_ns() // 1_000_000
        if self._closed:
            self._dropped_full += 1
            return
        pending = session.pending()
        name = None if tool is None else bounded(tool, LONGEST_NAME).text
        path = path_in(given) if target is None else self._text(target)
        called = None if arguments is None else self._counted(arguments)
        self._number += 1
        act = Act(
            event_id=f"{self._run}/{self._number}",
            at_ms=at_ms,
            kind=kind,
            status=status,
            intent=None if terminal else self._intent(intent or pending.words, name, called, path),
            goal=None if terminal or session.goal is None else self._text(session.goal),
            tool=name,
            arguments=called,
            target=path,
            output=None if output is None else self._text(output),
            tokens=pending.tokens,
            cost=pending.cost,
            terminal=terminal,
            gap=self._backlog.gap(session.session_id),
            round_id=None if round_id is None else bounded(round_id, LONGEST_NAME).text,
            parent_session_id=session.parent_session_id,
            user_turn=pending.user_turn,
            context_change=pending.context_change,
            cached=pending.cached,
        )
        task_type = None if session.task_type is None else bounded(session.task_type, LONGEST_NAME).text
        record = decision_log(session.session_id, self._agent, act, task_type)
        texts = sum(len(part) for part in act if isinstance(part, str))
        if not self._backlog.put(session.session_id, record, texts, act.gap):
            self._dropped_full += 1
            session.restore(pending)  # it goes with the next one

    def _intent(self, words: object, tool: str | None, arguments: str | None, path: str | None) -> str:
        if words is not None and (said := bounded(words, LONGEST_TEXT).text.strip()):
            return said[:_LONGEST_WORDS]
        return "" if tool is None else silent_intent(tool, arguments, path)

    def _text(self, value: object) -> str:
        return self._counted(bounded(value))

    def _counted(self, text: Text) -> str:
        self._truncated += text.cut
        return text.text


def _transport(
    servers: str | None, topic: str, file: str, options: dict[str, Any]
) -> Callable[[], Transport]:
    if servers is None:
        return lambda: FileTransport(file)

    def to_kafka() -> Transport:
        from eddy_client.kafka import KafkaTransport

        return KafkaTransport(servers, topic, options)

    return to_kafka


_living: weakref.WeakSet[Eddy] = weakref.WeakSet()
_of_parents: list[Sender] = []


def _after_fork() -> None:
    for eddy in list(_living):
        eddy._begin_in_child()  # noqa: SLF001 - of this module


def _at_exit() -> None:
    for eddy in list(_living):
        eddy.close()


os.register_at_fork(after_in_child=_after_fork)
atexit.register(_at_exit)

"""A board over the stream: what the console has read of Eddy's topics, and steps from the topic itself."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from functools import partial
from typing import Any, Final

import orjson
from eddy_client.protocol import OnTimeout

from streams.console.archive.row_store import search
from streams.console.auth.identity import Agents, is_of
from streams.console.board import Facts, FollowerReadings, Steps
from streams.console.command_list import stages
from streams.console.inbox import Query, SessionQuery, many, page, sessions, tabs
from streams.console.inbox.session_list import NO_SESSION_MATCHES, older_row, session_row
from streams.console.interventions.decided import WITHHELD, decided, open_breakers
from streams.console.interventions.versions import in_force, policy_versions
from streams.console.read_model.attention import Tab
from streams.console.read_model.case import Case
from streams.console.read_model.control import CommandState, ControlState
from streams.console.read_model.episode import event_of
from streams.console.read_model.model import ReadModel
from streams.console.read_model.rows import AckRow, CommandRow, Row, SessionRow
from streams.console.read_model.seen import SessionsSeen, TeamSessions
from streams.console.read_model.tables import SESSION, RowTable, Value
from streams.console.read_model.triage import subject_of
from streams.console.session_facts import LoopCourse
from streams.console.session_map import SessionMap
from streams.console.settings_versions import Settings, settings_of
from streams.console.timeline import StepReader
from streams.console.topic_follower import TopicFollower
from streams.console.wording import moment, money
from streams.console.workers import JobPoll, SessionStanding
from streams.core.detectors.budget.detector import granted
from streams.core.detectors.settings import DetectionSettings
from streams.core.domain.event_kind import EventKind
from streams.core.domain.text.printable import printable
from streams.core.domain.topic import Topic
from streams.core.policy.intervention import Mode, Policy

_TABS: Final = (
    (Tab.NEEDS_YOU, "Needs you"),
    (Tab.WATCHING, "Watching"),
    (Tab.HANDLED, "Handled"),
    (Tab.ENDED, "Ended"),
    (Tab.RECOVERED, "Recovered"),
)
#: What people are shown, and guards are told, only as long as it is current.
_PROMPT: Final = (Topic.SESSION_ALERTS, Topic.SESSION_COMMANDS, Topic.SESSION_COMMAND_ACKS)
#: Sessions that are listed below those in memory.
_MOST_OLDER: Final = 50

_EMPTY: Final = {
    Tab.WATCHING: ("Nothing to watch", "No session is near a loop, or drifts far."),
    Tab.HANDLED: ("Nothing is handled", "Sessions that were acknowledged, snoozed or paused stand here."),
    Tab.ENDED: (
        "No session has ended in a loop",
        "Those that were aborted, used up their budget, or fell silent in the last 24 hours are here.",
    ),
    Tab.RECOVERED: (
        "No session has recovered",
        "Those that got out of a loop in the last 24 hours are here.",
    ),
}


class LiveBoard:
    """What is known of the sessions of a job.

    Args:
        model: Read model of the console.
        feed: Reads the topics into the model.
        timeline: Reads the steps of a session.
        job: Asks workers and brokers how the job fares.
        cluster: Its name for people.
        currency: In front of costs.
        agents: Patterns of the agents whose sessions it shows; None for all sessions.
    """

    live = True
    first_page = "/alerts"

    def __init__(
        self,
        model: ReadModel,
        feed: TopicFollower,
        timeline: StepReader,
        job: JobPoll,
        cluster: str,
        currency: str = "$",
        *,
        agents: Agents = None,
    ) -> None:
        self.model, self.feed, self.job, self.cluster = model, feed, job, cluster
        self._currency, self._timeline, self._agents = currency, timeline, agents
        self.seen: SessionsSeen = model if agents is None else TeamSessions(model, partial(is_of, agents))
        self.session_map = SessionMap()
        self._versions = Settings()
        self._newest_version: object = None

    def within(self, agents: tuple[str, ...]) -> LiveBoard:
        """Return what people see who are limited to some agents."""
        return LiveBoard(
            self.model, self.feed, self._timeline, self.job, self.cluster, self._currency, agents=agents
        )

    @property
    def shows_all(self) -> bool:
        """Whether it shows the sessions of all agents."""
        return self._agents is None

    def _shows(self, session_id: str) -> bool:
        return self._agents is None or self.seen.find(session_id) is not None

    @property
    def settings(self) -> DetectionSettings:
        """The settings of detection in force."""
        return self.versions.in_force

    @property
    def versions(self) -> Settings:
        """What is in force and tried out, and how it came to that."""
        rows = self.model.ledger.versions
        newest = len(rows), next(reversed(rows), None)
        if newest != self._newest_version:
            self._versions, self._newest_version = settings_of(rows), newest
        return self._versions

    def facts(self, now: int) -> Facts:
        """Return what the frame of each page says."""
        lag = sum(self.feed.lag().values())
        needed = tabs(self.seen, now)
        holds = tuple(
            {
                "what": "Everything" if hold.agent_id is None else f"Agent {hold.agent_id}",
                "until": hold.until,
                "by": hold.by,
                "why": hold.why,
                "obeyed": f"{hold.holding} of {hold.guards} guards hold."
                if self._agents is None or hold.agent_id is not None
                else "",
            }
            for hold in self.seen.holds_in_force(now)
        )
        since, silent_ms = self.feed.history_from, self.feed.silent_ms(Topic.SESSION_ALERTS)
        return Facts(
            f"{self.cluster} · {self.seen.live(now):,} live",
            self.seen.newest_ts,
            lag,
            None if since is None else f"history back to {moment(since)}",
            {"alerts": needed[Tab.NEEDS_YOU]},
            holds,
            silent_ms,
            "No broker answers" if silent_ms is not None else self.job.trouble,
        )

    def alerts(self, query: Mapping[str, str], now: int) -> Mapping[str, Any]:
        """Return the inbox.

        Raises:
            ConfigurationError: the query has a word that is not known.
        """
        asked = Query.parse(query)
        found = page(self.seen, asked, now).behind(sum(self.feed.lag().values())).content()
        title, text = _EMPTY.get(asked.tab, ("All quiet", found["empty"]["sentence"]))
        if asked.chips:
            title, text = "Nothing matches", "Remove a word of the filter, or look at another tab."
        return {
            **found,
            "tab": str(asked.tab),
            "tabs": [
                {"name": str(tab), "title": title_, "count": found["tabs"][tab], "hot": tab is Tab.NEEDS_YOU}
                for tab, title_ in _TABS
            ],
            "groups": found.get("groups"),
            "summary": _summary(found, self._currency),
            "breakers": self._breakers(self._policy().version),
            "stale": "not known" in found["empty"]["sentence"],
            "empty_title": title,
            "empty_text": text,
        }

    def many(self, cause: str, chosen: Sequence[str], now: int) -> Mapping[str, Any] | None:
        """Return what an action on several rows of the inbox is about; None if none of them is there.

        Args:
            cause: That of the rows; empty if they were chosen one by one.
            chosen: The sessions that were chosen.
            now: Time of the call, in milliseconds since 1970.
        """
        known = self.seen.attention(now)
        return many(known.values() if cause else (known[each] for each in chosen if each in known), cause)

    def sessions(self, query: Mapping[str, str], now: int) -> Mapping[str, Any]:
        """Return a list of sessions.

        Raises:
            ConfigurationError: as for `alerts`.
        """
        found = sessions(self.seen, SessionQuery.parse(_named(query)), now).content()
        return {
            **found,
            "lead": f"{found['matching']:,} sessions, {found['live']:,} of them live.",
            "empty_text": NO_SESSION_MATCHES
            if query.get("q")
            else "No session has been seen yet. Agents that send decision logs appear here.",
        }

    async def older_sessions(self, query: Mapping[str, str], now: int) -> tuple[list[dict[str, Any]], bool]:
        """Return sessions that only the archive has, newest first, and whether it may have more.

        There are none where a state of now is asked for.

        Raises:
            ConfigurationError: as for `alerts`.
        """
        asked = SessionQuery.parse(_named(query))
        words = asked.text.split()
        if asked.level or asked.node or asked.after:
            return [], False
        before = now - self.seen.live_ms
        agents = [each for each in ((asked.agent,) if asked.agent else (), self._agents or ()) if each]
        rest, values = search(words, agents, asked.trace, before, _MOST_OLDER, in_goals=asked.in_goals)
        rows = await self.archived(SESSION, rest, values)
        older = [
            older_row(row)
            for row in rows
            if isinstance(row, SessionRow) and row.session_id not in self.model.cases
            if is_of(self._agents, row.agent_id)
            if asked.since_ms is None or (row.last_ts or 0) >= now - asked.since_ms
        ]
        return older, len(rows) == _MOST_OLDER

    def session(self, session_id: str, now: int) -> Mapping[str, Any] | None:
        """Return what is known of a session beside its steps."""
        case = self.seen.find(session_id)
        if case is None:
            return None
        state, control = case.session, self.seen.control(session_id, now)
        return {
            **session_row(self.seen, case, now),
            "budget": state.budget or granted({}),
            "course": _course(case),
            "node": state.shown_node,
            "control": {
                "state": str(control.state),
                "label": control.label(now) or "under a guard",
                "after_pause": control.after_pause,
                "expires_at": control.expires_at,
                "detail": _pause_end(control),
                "guards": control.guards,
            },
            "guards": [
                {
                    "guard_id": guard.guard_id,
                    "integration": guard.integration,
                    "version": guard.version,
                    "seen": guard.seen,
                    "detached": bool(guard.detached),
                }
                for guard in case.guards.values()
            ],
            "commands": _commands(case, self.seen.holds, now),
            "episode": _episode(case),
            "triage": self._triage(session_id, now),
        }

    def _triage(self, session_id: str, now: int) -> dict[str, Any]:
        """Return what operators decided, and the name of that for a triage action."""
        about = self.seen.about(session_id, now)
        if about is None:
            return {
                "subject": subject_of(session_id),
                "state": "open",
                "tokens": 0,
                "assignee": None,
                "note": None,
            }
        row = about.triage
        return {
            "subject": about.subject,
            "state": about.standing.state,
            "tokens": about.tokens,
            "assignee": row.assignee if row else None,
            "note": row.note if row else None,
        }

    def readings(self) -> FollowerReadings:
        """Return how far the reading is."""
        intake, policy = self.feed.intake, self._policy()
        return FollowerReadings(
            {str(topic): count for topic, count in self.feed.lag().items()},
            {str(topic): count for topic, count in intake.records.items()},
            {str(topic): count for topic, count in intake.unread.items()},
            intake.seconds,
            self.feed.begun,
            self.feed.silent_ms(*_PROMPT),
            len(self._breakers(policy.version)) if policy.mode is Mode.LIVE else 0,
        )

    def _policy(self) -> Policy:
        return in_force(policy_versions(self.model.ledger.versions.values()))

    def _breakers(self, version: int) -> Mapping[str, str]:
        held_back = (row for row in self.model.ledger.actions.values() if row.result == WITHHELD)
        shown = (each for each in decided(held_back) if is_of(self._agents, each.done.agent_id))
        return open_breakers(shown, version)

    async def archived(self, table: RowTable, rest: str, values: Sequence[Value]) -> list[Row]:
        """Return rows of a table that may no longer be in memory."""
        return await self.feed.archive.select(table, rest, values)

    def look_at(self, sessions: frozenset[str]) -> None:
        """Note whose pages are open: everything about these sessions is read."""
        self.model.pages = sessions

    def version(self, session_id: str) -> object:
        """Return what changes whenever the page of a session does."""
        case = self.model.cases.get(session_id)
        if case is None:
            return None
        places = list(case.session.places)
        return len(places), places[-1:], len(case.commands), len(case.acks), len(case.guards)

    async def number_at(self, session_id: str, offset: int) -> int | None:
        """Return the number of the first step that is not before an offset of decision-logs."""
        return await self._timeline.number_at(session_id, offset) if self._shows(session_id) else None

    async def steps(self, session_id: str, *, before: int | None, limit: int) -> Steps:
        """Return steps of a session, read from the topic of enriched records."""
        if not self._shows(session_id):
            return Steps(())
        return await self._timeline.steps(session_id, before=before, limit=limit)

    async def standing(self, session_id: str) -> SessionStanding:
        """Return where a session stands, by the worker that has it."""
        if not self._shows(session_id):
            return SessionStanding(missing=self.missing(session_id))
        return await self.job.standing(session_id)

    def missing(self, session_id: str) -> str:
        """Say that there is no such session."""
        near = get_close_matches(session_id[:200], list(self.seen.cases)[:20_000], n=3, cutoff=0.4)
        names = f" The nearest: {', '.join(printable(name, 80) for name in near)}." if near else ""
        return f"Nothing is known of session {printable(session_id, 80)}.{names}"

    def explained_by(self, session_id: str) -> str:
        """Return the command that explains a session."""
        return f"eddy explain {session_id} --topic"


def _named(query: Mapping[str, str]) -> dict[str, str]:
    """Return a query with words of its text such as ``agent:`` and ``node:`` as parameters."""
    named, rest = dict(query), []
    for word in query.get("q", "").split():
        name, colon, value = word.partition(":")
        if colon and name in ("agent", "trace", "level", "node", "since"):
            named[name] = value
        else:
            rest.append(word)
    return {**named, "q": " ".join(rest)}


def _summary(found: Mapping[str, Any], currency: str) -> str:
    totals, urgent = found["totals"], found["tabs"][Tab.NEEDS_YOU]
    if not urgent:
        said: str = found["empty"]["sentence"]
        return said if not found["rows"] else f"{found['empty']['live']:,} sessions live."
    need = f"{urgent:,} {'session needs' if urgent == 1 else 'sessions need'} you"
    if not totals["tokens"]:
        return f"{need}."
    cost = f" and {money(totals['cost'], currency)}" if totals["cost"] else ""
    return f"{need}: {totals['tokens']:,.0f} tokens{cost} since the loops began."


def _commands(case: Case, holds: Mapping[str, Mapping[str, CommandRow]], now: int) -> list[dict[str, Any]]:
    """Return the commands to a session and the holds that its guards obey, newest first, with the answers."""
    answers = defaultdict[str, list[AckRow]](list)
    for ack in sorted(case.acks.values(), key=lambda each: each.at):
        answers[ack.command_id].append(ack)
    obeyed = [row for held in holds.values() for row in held.values() if row.command_id in answers]
    return [
        {
            **orjson.loads(row.body),
            "place": {"topic": str(Topic.SESSION_COMMANDS), "partition": row.partition, "offset": row.offset},
            "stages": stages(row, answers[row.command_id], now),
            "acks": [
                {"status": ack.status, "at": ack.at, "guard_id": ack.guard_id, **_said(ack.body)}
                for ack in answers[row.command_id]
            ],
        }
        for row in sorted((*case.commands.values(), *obeyed), key=lambda each: -each.issued_at)
    ]


def _pause_end(control: ControlState) -> str | None:
    """Return what becomes of a pause that nobody touches, None if there is none."""
    if control.state is not CommandState.PAUSED or control.expires_at is None:
        return None
    becomes = "is aborted" if control.on_timeout == OnTimeout.ABORT else "resumes"
    return f"It {becomes} at {moment(control.expires_at)} unless somebody extends the pause."


def _said(body: str) -> dict[str, Any]:
    return {"detail": orjson.loads(body).get("detail")}


def _course(case: Case) -> LoopCourse:
    newest = case.newest_episode(is_open=True) or case.newest_episode(is_open=False)
    loops = sum(each.loop_ts is not None for each in case.episodes.values())
    if newest is None:
        return LoopCourse(loops)
    first = {"tokens_since_onset": newest.tokens_at_open, "cost_since_onset": newest.cost_at_open}
    return LoopCourse(loops, first, event_of(newest))


def _episode(case: Case) -> dict[str, Any] | None:
    episode = case.newest_episode(is_open=True)
    if episode is None:
        return None
    cause = {
        "event_type": str(EventKind.LOOP_EPISODE),
        "episode_id": episode.episode_id,
        "partition": episode.partition,
        "offset": episode.seen_offset,
    }
    return {
        "episode_id": episode.episode_id,
        "rule": episode.rule,
        "level": episode.level,
        "cause": orjson.dumps(cause).decode(),
    }

"""Agents whose records go through the pipeline and on to the console, at times that a test says."""

from collections.abc import Iterator
from typing import Any

from streams.console.inbox import InboxPage, Query, page
from streams.console.read_model.attention import Tab
from streams.console.read_model.model import ReadModel
from streams.console.read_model.triage import EpisodeSeen
from streams.core.domain.topic import Topic
from streams.core.pipeline import fall_silent
from tests.stream import START_MS, Stream, decision_log
from tests.unit.console.told import Told, Topics

MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS


class Board:
    """A pipeline, the topics it writes to, and a model that reads them; tests move the clock."""

    def __init__(self, **settings: Any) -> None:
        self.stream = Stream(**settings)
        self.topics = Topics()
        self.model = ReadModel()
        self.now = START_MS
        self._numbers: dict[str, int] = {}
        self._episodes: dict[str, Told] = {}

    def take(self, told: Told) -> Told:
        """Let the model read a record."""
        assert self.model.take(*told), told
        if (told.fields or {}).get("event_type") == "loop_episode":
            self._episodes[str((told.fields or {})["session_id"])] = told
        return told

    def act(self, session: str, seconds: float = 1, **about: Any) -> None:
        """Let an agent do one thing, that many seconds after the last one; further arguments as in a log."""
        for told in self.done(session, seconds, **about):
            self.take(told)

    def done(self, session: str, seconds: float = 1, **about: Any) -> Iterator[Told]:
        """Return what is written about one thing that an agent does."""
        self.now += int(seconds * 1000)
        number = self._numbers[session] = self._numbers.get(session, 0) + 1
        delta, control = about.pop("state_delta", {"tokens_consumed": 500}), about.pop("control", None)
        value = decision_log(session=session, at_ms=self.now - START_MS, number=number, **about)
        value |= {"state_delta": delta} | ({} if control is None else {"control": control})
        value["event_id"] = f"{session}-e{number}"
        yield from self.topics.scored(self.stream.scored(value, timestamp=self.now), self.now)

    def loop(self, session: str, steps: int = 6, seconds: float = 1, **about: Any) -> None:
        """Let an agent do the same thing again and again."""
        for _ in range(steps):
            self.act(session, seconds, tool="search", tool_input='{"q": "noise"}', error="none", **about)

    def work(self, session: str, steps: int = 6, seconds: float = 1, **about: Any) -> None:
        """Let an agent do one new thing after another."""
        for step in range(steps):
            number = self._numbers.get(session, 0)
            self.act(
                session,
                seconds,
                intent=f"look at part {number}",
                tool=f"tool_{number % 7}",
                status="success",
                tool_input=f'{{"n": {number}}}',
                tool_output_summary=f"part {step} of {number} holds {_new_words(number)}",
                **about,
            )

    def triage(self, do: str, subject: str) -> None:
        """Let an operator decide about what is shown now."""
        self.now += 1_000
        seen = EpisodeSeen.of(self.model.episode(subject))
        self.take(self.topics.triage(do, subject, self.now, seen))

    def expire(self, session: str) -> None:
        """Let the job remove a session that has been silent for too long."""
        self.now += DAY_MS
        told = self._episodes[session]
        fields = {**(told.fields or {}), "phase": "recovered", "reason": "expired", "timestamp": self.now}
        fields["id"] = f"{fields['id'].rpartition('/')[0]}/recovered"
        self.take(self.topics.told(told.topic, session, fields, self.now))

    def fall_silent(self, session: str, minutes: int = 20) -> None:
        """Let the job tell, so long after its last step, that a session is silent."""
        self.now += minutes * MINUTE_MS
        held = self.stream.sessions[session]
        after, event = fall_silent(session, held, minutes * MINUTE_MS, self.stream.settings)
        self.stream.sessions[session] = after
        self.take(self.topics.told(Topic.SESSION_ALERTS, session, dict(event.fields), self.now))

    def inbox(self, seconds: float = 0, **params: str) -> InboxPage:
        """Return the page, that many seconds later."""
        self.now += int(seconds * 1000)
        return page(self.model, Query.parse(params), self.now)

    def row(self, session: str, seconds: float = 0) -> dict[str, Any] | None:
        """Return the row of a session, in whichever tab it is."""
        self.now += int(seconds * 1000)
        for tab in Tab:
            for row in page(self.model, Query.parse({"state": str(tab)}), self.now).rows:
                if row["session_id"] == session:
                    return row
        return None


def _new_words(number: int) -> str:
    """Return four words that no other number has."""
    spelled = str(number).translate(str.maketrans("0123456789", "ghijklmnop"))
    return " ".join(f"{spelled}{letter}" for letter in "wxyz")


class Recorded(Board):
    """Agents whose records are kept."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[Told] = []

    def take(self, told: Told) -> Told:
        self.records.append(told)
        return super().take(told)

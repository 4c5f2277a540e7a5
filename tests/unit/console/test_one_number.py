"""Times, tokens, cost and since are one thing, wherever a person or a program reads them."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import pytest

from streams.cli.text.overview import Course
from streams.cli.top.picture import row_of
from streams.console.inbox import Query, page
from streams.console.read_model.attention import Tab
from streams.console.read_model.episode import event_of
from streams.console.read_model.model import ReadModel
from streams.core.detectors.settings import DEFAULTS
from streams.core.domain.outcome import Scored
from streams.core.offline import Judgement, judge
from streams.formats.reading import entries
from streams.formats.recordings.catalogue import RECORDINGS, Recording
from streams.operate.explain.explanation import Explanation, sentence
from tests.stream import Stream, decision_log, repeated
from tests.unit.console.told import Topics

LOOPING = [recording for recording in RECORDINGS if "loop_episode" in recording.findings]


class Figures(NamedTuple):
    """What is said of a loop: how often, at what price, since when, when last, and the whole sentence."""

    times: int
    tokens: float
    cost: float | None
    began: int
    last: int
    sentence: str


def of_event(fields: Mapping[str, Any]) -> Figures:
    """Those of a finding, as the alert has it and as `eddy explain` and `eddy detect` write it."""
    return Figures(
        fields["count"],
        fields["tokens_since_onset"] or 0,
        fields["cost_since_onset"],
        fields["first_timestamp"],
        fields["last_timestamp"],
        sentence(fields),
    )


def of_row(row: Mapping[str, Any]) -> Figures:
    """Those of a row of the console, as HTML and JSON have it, and of `eddy top`."""
    times = row["first"]["at"], row["last"]["at"]
    return Figures(row["count"], row["tokens"], row["cost"], *times, row["sentence"])


class Readers:
    """Everybody who says something of a session, each with what it has read."""

    def __init__(self) -> None:
        self.topics, self.model = Topics(), ReadModel()
        self.explanations = dict[str, Explanation]()
        self.courses = dict[str, Course]()

    def read(self, scored: Scored) -> dict[str, Figures]:
        """Take in a record; return what each says of the newest loop of its session, nothing before one."""
        decision = scored.decision
        session, at = decision.session_id, decision.timestamp
        explanation = self.explanations.setdefault(session, Explanation(session))
        explanation.add(Judgement(decision.offset, session, decision.event_id, scored))
        course = self.courses.setdefault(session, Course(at, "a file"))
        course.add(scored)
        for record in self.topics.scored(scored, at):
            self.model.take(*record)
        if not course.loops or explanation.latest is None:
            return {}
        fields = course.loops[-1].fields
        told = self.model.episode(fields["episode_id"])
        assert told is not None
        said = {
            "detect": of_event(fields),
            "explain": of_event(explanation.latest | (explanation.open or {})),
            "session page": of_event(event_of(told)),
        }
        for event in scored.events:
            if event.fields["event_type"] == "loop_episode":
                said["alert"] = of_event(event.fields)
        watched = row_of(self.model, session, at)
        # Once it is over, something else may be said of the session.
        if watched is not None and watched["episode_id"] is not None:
            listed = page(self.model, Query(tab=Tab(watched["tab"])), at).content()
            rows = {row["session_id"]: row for row in listed["rows"]}
            said |= {"top": of_row(watched), "inbox": of_row(rows[session])}
        assert not course.open or "inbox" in said
        return said


@pytest.mark.parametrize("recording", LOOPING, ids=lambda recording: recording.name)
def test_all_say_the_same_of_a_loop_at_each_of_its_records(recording: Recording) -> None:
    readers, compared = Readers(), 0
    for judgement in judge(entries([str(recording.path)], recording.input_format), DEFAULTS):
        if isinstance(judgement.outcome, Scored) and (said := readers.read(judgement.outcome)):
            compared += 1
            assert set(said.values()) == {said["detect"]}, said
    assert compared


@pytest.mark.parametrize("gets_out", [True, False])
def test_all_say_the_same_of_a_loop_that_is_over(gets_out: bool) -> None:
    spent = {"state_delta": {"tokens_consumed": 700, "cumulative_session_cost": 0.5}}
    calls = repeated(9, tool="search", intent="find it", status="success")
    words = ("alpha beta gamma delta", "one two three four", "red green blue black", "north south east west")
    rest = [
        decision_log("go on", f"tool_{n}", "success", number=n, tool_output_summary=f"{text} {n}")
        for n, text in enumerate(words * 3, 9)
    ]
    last = decision_log("done", "report", "success", number=9, terminal=True)
    readers, stream, said = Readers(), Stream(), dict[str, Figures]()
    for value in (*calls, *(rest if gets_out else (last,))):
        said = readers.read(stream.scored(value | spent))
    (course,) = readers.courses.values()
    assert not course.open
    assert course.loops[-1].fields["reason"] == ("quiet" if gets_out else "terminal")
    assert set(said.values()) == {said["detect"]}, said

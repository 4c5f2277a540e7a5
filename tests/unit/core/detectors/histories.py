"""Whole histories of a session, for a detector and a plain reading of its definition to agree on."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from hypothesis import strategies as st

from streams.core.detectors.settings import DetectionSettings
from streams.core.domain.decision import Decision
from tests.stream import Stream, decision_log


class Seen(NamedTuple):
    """A scored record, the settings it was scored under, and the block `eddy` it got."""

    decision: Decision
    settings: DetectionSettings
    eddy: dict[str, Any]


# Few of each, so that records repeat, take turns, and speak of a goal now and then.
_COGNITIONS = st.sampled_from(
    [
        {"intent": "fix the login bug"},
        {"intent": "fix the login"},
        {"intent": "play music"},
        {"intent": "", "goal": "!"},
        {"intent": "login", "goal": "Fix login bug in the auth module"},
        {"intent": "play", "goal": "play loud music"},
        None,
    ]
)
_ACTIONS = st.sampled_from(
    [
        {"tool_call": "read_file", "tool_input": '{"path": "auth.py"}', "target": "module"},
        {"tool_call": "read_file", "tool_input": '{"path": "other.py"}'},
        {"tool_call": ""},
        {},
    ]
)
_RESULTS = st.sampled_from([{}, {"tool_output_summary": "same"}, {"error": "boom"}, {"error": "boom again"}])
_STATUSES = st.sampled_from(["success", "failure", "failure", "skipped"])
_DELTAS = st.sampled_from(
    [
        None,
        None,
        {"progress_delta": 0.2, "context_quality": 0.9},
        {"progress_delta": -0.1, "context_quality": 0.25},
        {"progress_delta": 0.004, "context_quality": 1},
        {"added_to_memory": ["fact"]},
    ]
)


@st.composite
def _values(draw: st.DrawFn) -> dict[str, Any]:
    value = decision_log(None, None, draw(_STATUSES))
    value["cognition"] = draw(_COGNITIONS)
    value["action"] |= draw(_ACTIONS) | draw(_RESULTS)
    value["state_delta"] = draw(_DELTAS)
    return value


@st.composite
def histories(draw: st.DrawFn, changes: st.SearchStrategy[dict[str, Any]]) -> list[Seen]:
    """What the pipeline made of turns of a few records, with settings that change on the way."""
    stream = Stream()
    return [*_seen(stream, draw(st.lists(_segments(changes), min_size=1, max_size=6)))]


@st.composite
def _segments(
    draw: st.DrawFn, changes: st.SearchStrategy[dict[str, Any]]
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    turns = draw(st.lists(_values(), min_size=1, max_size=3))
    length = draw(st.integers(1, 9))
    changed = draw(changes) if draw(st.booleans()) else {}
    return changed, [turns[at % len(turns)] for at in range(length)]


def _seen(stream: Stream, segments: list[tuple[dict[str, Any], list[dict[str, Any]]]]) -> Iterator[Seen]:
    for changed, values in segments:
        stream.set(**changed)
        for outcome in stream.run(values):
            if outcome.enriched["eddy"]["step"] is not None:
                yield Seen(outcome.decision, stream.settings, outcome.enriched["eddy"])

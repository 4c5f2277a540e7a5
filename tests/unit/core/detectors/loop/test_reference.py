"""A4 keeps only the ends of runs. Here it is compared with its definition over the whole history."""

from typing import Any, NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from streams.core.detectors.settings import DetectionSettings
from streams.core.domain.number import r4
from streams.core.domain.text.marks import jaccard, tokens
from tests.unit.core.detectors.histories import Seen, histories

CHANGES = st.fixed_dictionaries(
    {},
    optional={
        "loop_window_size": st.integers(2, 9),
        "exact_hash_threshold": st.integers(2, 4),
        "semantic_threshold": st.sampled_from([0.0001, 0.5, 0.6667, 1.0]),
        "oscillation_threshold": st.integers(2, 3),
        "dead_end_threshold": st.integers(2, 4),
        "enable_all_strategies": st.booleans(),
        "score_statuses": st.sampled_from([["success", "failure"], ["success", "failure", "skipped"]]),
    },
)


class Step(NamedTuple):
    """A step as specification 5.4 keeps it."""

    number: int
    signature: str
    action: str
    words: frozenset[str]
    stuck: bool


def steps_seen(history: list[Seen]) -> list[Step]:
    """The window after the last record, filled and cut record by record."""
    window: list[Step] = []
    result = None
    for decision, settings, eddy in history:
        parts = (decision.intent, decision.tool, decision.canonical_input, decision.result_text)
        words = tokens(" ".join(part for part in parts if part))
        stuck = decision.is_without_progress(result)
        result = decision.result_digest
        window = [*window, Step(eddy["step"], decision.signature, decision.call, words, stuck)]
        window = window[-settings.loop_window_size :]
    return window


def detections(window: list[Step], settings: DetectionSettings) -> dict[str, Any]:
    """What each detector says of the newest step of a window."""
    found: dict[str, Any] = dict.fromkeys(("exact_hash", "semantic", "oscillation", "dead_end"))
    tails = [window[-length:] for length in range(1, len(window) + 1)]

    run = max((tail for tail in tails if len({step.signature for step in tail}) == 1), key=len)
    if len(run) >= settings.exact_hash_threshold:
        found["exact_hash"] = {"confidence": 1.0, "steps": [step.number for step in run]}
    if not settings.enable_all_strategies:
        return found

    if len(window) >= 2:
        similarity = r4(jaccard(window[-2].words, window[-1].words))
        if similarity >= settings.semantic_threshold:
            numbers = [step.number for step in window[-2:]]
            found["semantic"] = {"confidence": similarity, "steps": numbers}

    run = max((tail for tail in tails if alternates([step.action for step in tail])), key=len, default=[])
    if len(run) // 2 >= settings.oscillation_threshold:
        numbers = [step.number for step in run]
        found["oscillation"] = {"confidence": 0.95, "steps": numbers, "cycles": len(run) // 2}

    run = window[-settings.dead_end_threshold :]
    if len(run) == settings.dead_end_threshold and all(step.stuck for step in run):
        found["dead_end"] = {"confidence": 0.8, "steps": [step.number for step in run]}
    return found


def alternates(actions: list[str]) -> bool:
    one, other = actions[::2], actions[1::2]
    return len({*one}) == 1 and len({*other}) == 1 and one[0] != other[0]


@given(histories(CHANGES))
def test_it_says_what_the_whole_window_says(history: list[Seen]) -> None:
    for length in range(1, len(history) + 1):
        _, settings, eddy = history[length - 1]
        expected = detections(steps_seen(history[:length]), settings)
        loop = eddy["loop"]
        assert loop["all_detections"] == expected
        surest = max((each["confidence"] for each in expected.values() if each), default=0.0)
        assert loop["confidence"] == surest
        type_ = next((name for name, each in expected.items() if each and each["confidence"] == surest), None)
        assert loop["type"] == type_
        assert loop["steps"] == (expected[type_]["steps"] if type_ else [])

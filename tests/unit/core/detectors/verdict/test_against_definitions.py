"""The counters carried from record to record count what the definitions count over the whole history."""

import orjson
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from streams.core.detectors.detector import CloseReason
from streams.core.detectors.settings import DEFAULTS
from streams.core.detectors.verdict.detector import Verdict
from streams.core.detectors.verdict.standing import standings
from streams.core.detectors.verdict.step import StepKind
from streams.core.domain.decision import Decision
from streams.core.settings_document import resolve
from tests.unit.core.detectors.verdict.histories import Entry, histories
from tests.unit.core.detectors.verdict.naive import Naive


def check(entries: list[Entry], *, stored: bool) -> set[str]:
    """Compare record by record; say what was met."""
    detector, naive, in_force = Verdict(), Naive(), DEFAULTS
    state, document, met = detector.fresh(), {}, set()
    for offset, entry in enumerate(entries):
        if "set" in entry:
            document |= entry["set"]
            in_force, warnings = resolve(document, in_force, in_force.version + 1)
            assert not warnings
            continue
        decision = Decision.of(3, offset, entry["value"])
        state, block, findings = detector.observe(state, decision, {}, in_force)
        expected, told = naive.judge(decision, in_force)
        assert block == expected
        assert [finding.fields for finding in findings] == told
        assert detector.level(state) == expected["level"]
        if block["visible"]:
            firing = [each for each in standings(state, in_force) if each.level != "NORMAL"]
            reached = [(each.rule, each.level, each.count, each.period) for each in firing]
            wanted = [(each["rule"], each["level"], each["count"], each["period"]) for each in block["fired"]]
            assert reached == wanted
        met |= {each["rule"] for each in block["fired"] or ()} | {block["why"] or "visible"}
        met |= {"longer" for each in block["fired"] or () if (each["period"] or 0) > 5}
        met |= {block["stuck"]["kind"]} if block["visible"] else set()
        met |= {each["phase"] + (" again" if each["reopened"] else "") for each in told}
        if stored:
            state = detector.restore(orjson.loads(orjson.dumps([*state])))
    closing = detector.close(state, CloseReason.TERMINAL)
    episode = naive.episode
    ended = [] if episode is None else [naive.tell(episode, "recovered", "terminal")]
    assert [finding.fields for finding in closing] == ended
    return met


@settings(max_examples=60)
@given(histories(), st.booleans())
def test_the_detector_does_what_the_definitions_say(entries: list[Entry], stored: bool) -> None:
    check(entries, stored=stored)


def test_the_histories_hold_what_the_comparison_is_about() -> None:
    met: set[str] = set()

    @settings(max_examples=1500, phases=[Phase.generate], derandomize=True, database=None)
    @given(histories())
    def collect(entries: list[Entry]) -> None:
        met.update(check(entries, stored=False))

    collect()
    reasons = {
        "disabled",
        "system",
        "status",
        "empty",
        "exempt",
        "refused",
        "infrastructure",
        "round",
        "visible",
    }
    phases = {"opened", "opened again", "escalated", "still_open", "recovered"}
    assert {"R1", "R2", "longer", "R7", "R9"} | reasons | phases | {*StepKind} <= met

"""Hypothesis strategy for settings documents: everything that decides whether and when a rule fires."""

from typing import Any

from hypothesis import strategies as st

from streams.core.detectors.settings import DEFAULTS, DetectionSettings
from streams.core.settings_document import resolve

STATUSES = ("success", "failure", "pending", "skipped")
SHARES = st.floats(0, 1).map(lambda share: round(share, 3))
# Mostly few, so that sequences stay short; sometimes too many for any window.
COUNTS = st.integers(2, 9) | st.integers(10, 60)
TOOLS = st.lists(
    st.sampled_from(["read_*", "cat", "edit*", "*_file", "bash", "run_?", "[p-s]*", "*", "Upper*"]),
    unique=True,
    max_size=4,
)
QUARTERS = st.integers(1, 32).map(lambda quarter: quarter / 4)
SCORES = QUARTERS | st.floats(0.1, 8).map(lambda score: round(score, 2))
LIMITS = st.tuples(COUNTS, COUNTS).map(sorted)


def _statuses() -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(STATUSES), unique=True)


def _weights() -> st.SearchStrategy[dict[str, float]]:
    """Multiples of 0.05 that sum to 1: five shares out of twenty, cut at four places."""

    def shares(cuts: list[int]) -> dict[str, float]:
        ends = [0, *sorted(cuts), 20]
        return {
            name: (ends[place + 1] - ends[place]) / 20 for place, name in enumerate(DEFAULTS.signal_weights)
        }

    return st.lists(st.integers(0, 20), min_size=4, max_size=4).map(shares)


def _policies() -> st.SearchStrategy[dict[str, dict[str, Any]]]:
    mode = st.sampled_from(
        [{"mode": "exempt"}, {"mode": "polling"}, {"mode": "limits", "warn": 2, "loop": 7}]
    )
    return st.dictionaries(st.sampled_from(["search", "read_*", "*", "[a-m]*", "bash"]), mode, max_size=3)


@st.composite
def documents(draw: st.DrawFn) -> dict[str, Any]:
    """A document of a few settings. Each alone is within its range; groups may be out of order."""
    loop, warning = sorted(draw(st.tuples(SHARES, SHARES)))
    clear, saturation = sorted(draw(st.tuples(SHARES, SHARES)))
    rising = sorted(draw(st.lists(SHARES, min_size=4, max_size=4, unique=True)))
    settings: dict[str, Any] = {
        "score_statuses": draw(_statuses()),
        "verdict_statuses": draw(_statuses()),
        "session_ttl_ms": draw(st.sampled_from([0, 1, 500, 86_400_000])),
        "entropy_window_size": draw(COUNTS),
        "entropy_loop_threshold": loop,
        "entropy_warning_threshold": warning,
        "repeat_ring_size": draw(COUNTS),
        "repeat_thresholds": {
            **{kind: draw(COUNTS | st.just(999)) for kind in ("tool", "llm", "system", "default")},
            **draw(st.dictionaries(st.sampled_from(["", "kind_1", "tool ", "memory"]), COUNTS, max_size=2)),
        },
        "repeat_dedup": draw(st.sampled_from(["once_per_session", "rearm"])),
        "pattern_window": draw(st.integers(3, 30)),
        "pattern_theta": draw(COUNTS),
        "pattern_alpha": draw(st.sampled_from([0.05, 0.3, 0.9, 1.0])),
        "pattern_clear": clear,
        "pattern_saturation": saturation,
        "read_tools": draw(TOOLS),
        "write_tools": draw(TOOLS),
        "command_tools": draw(TOOLS),
        "loop_window_size": draw(COUNTS),
        "exact_hash_threshold": draw(COUNTS),
        "semantic_threshold": draw(SHARES.filter(bool)),
        "oscillation_threshold": draw(st.integers(2, 12)),
        "dead_end_threshold": draw(COUNTS),
        "enable_all_strategies": draw(st.booleans()),
        "signal_weights": draw(_weights()),
        "stuck_horizon": draw(st.integers(1, 40)),
        "min_velocity": draw(st.sampled_from([0.0001, 0.01, 1.0])),
        "velocity_window": draw(st.sampled_from([1, 10])),
        "goal_window": draw(st.sampled_from([1, 10])),
        "verdict_enabled": draw(st.sampled_from([True, True, True, False])),
        "verdict_rules": draw(st.lists(st.sampled_from(["R1", "R2", "R7", "R9"]), unique=True)),
        "verdict_window": draw(st.integers(6, 40)),
        "cycle_max_period": draw(st.integers(2, 5) | st.integers(6, 60)),
        "poll_gap_ms": draw(st.sampled_from([0, 1, 6, 1000, 60_000])),
        "failure_gap_ms": draw(st.sampled_from([0, 1, 6, 1000, 600_000])),
        "refusal_phrases": draw(st.lists(st.sampled_from(["see the handbook", "no rule"]), unique=True)),
        "recover_records": draw(st.integers(1, 5)),
        "tool_policies": draw(_policies()),
    }
    names = ("nudge_threshold", "replan_threshold", "checkpoint_threshold", "stop_threshold")
    settings |= zip(names, rising, strict=True)
    for rule in (
        "identical",
        "identical_failing",
        "cycle",
    ):
        warn, limit = draw(LIMITS)
        settings |= {f"{rule}_warn": warn, f"{rule}_loop": limit}
    warn_score, loop_score = sorted(draw(st.tuples(SCORES, SCORES)))
    settings |= {"stuck_warn": warn_score, "stuck_loop": loop_score}
    warn, limit = draw(LIMITS)
    settings |= {"waiting_warn_minutes": warn, "waiting_loop_minutes": limit}
    kept = draw(st.sets(st.sampled_from(sorted(settings)), min_size=3))
    return {name: value for name, value in settings.items() if name in kept}


@st.composite
def settings(draw: st.DrawFn) -> DetectionSettings:
    """What a document puts in force."""
    return resolve(draw(documents()), DEFAULTS, 1)[0]

"""Witnesses of A5: signals that add up to a response level (specification 5.5)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any, NamedTuple

from streams.core.detectors.drift.settings import DriftSettings
from streams.core.detectors.drift.signals import THRESHOLDS, drift_overall
from streams.core.domain.number import r4
from streams.core.domain.witness import (
    NOTHING_SCORED,
    DecisionLog,
    Obstacle,
    RecordMaker,
    Witness,
    scored_status,
)

# A goal of so many words gives the share of them that is missed this resolution; the engine reads 256.
_GOAL_WORDS = (5, 20, 100, 256)
_WORDS = ("invoices", "released", "billing", "parser", "tests")
_ABOVE_ALL = 2.0


class _Mix(NamedTuple):
    """The signals of the last record.

    Attributes:
        covered, words: so many of so many goal words are found; without a goal when it is all of them.
        looping: whether all records are alike.
        slowness: how far the progress of each falls short of `min_velocity`, 0 to 1: none at all.
        quality_drop: from the record before, 0 to 1.
    """

    covered: int
    words: int
    looping: bool
    slowness: float
    quality_drop: float


def witness(level: str, settings: DriftSettings, maker: RecordMaker) -> Witness | Obstacle:
    """Return the shortest sequence whose last record stands at exactly this level.

    All signals at their most grow with the number of records, so the first number that can reach the level
    at all is the shortest; there, fewer or smaller signals are taken when the most would be too much.
    """
    status = scored_status(settings)
    if status is None:
        return NOTHING_SCORED
    names = [*THRESHOLDS.values()][[*THRESHOLDS].index(level) :]
    low, *higher = [getattr(settings, name) for name in names]
    high = higher[0] if higher else _ABOVE_ALL
    records = _first_that_reaches(low, settings)
    if records is None:
        return Obstacle(f"the signals cannot add up to {THRESHOLDS[level]} under signal_weights")
    mix = next(
        (
            mix
            for mix in _mixes(records, low, high, settings)
            if low <= _overall(mix, records, settings) < high
        ),
        None,
    )
    if mix is None:
        why = f"no signals were found that add up to between {low:g} and {high:g} under signal_weights"
        return Obstacle(why, certain=False)
    return Witness(records, lambda number: _record(number, records, mix, status, settings, maker))


def _first_that_reaches(low: float, settings: DriftSettings) -> int | None:
    """Return the least number of records after which all signals at their most reach ``low``."""
    most = _Mix(covered=0, words=1, looping=True, slowness=1.0, quality_drop=1.0)
    short, long = 1, max(2, settings.exact_hash_threshold, settings.stuck_horizon)
    if _overall(most, long, settings) < low:
        return None
    while short < long:
        middle = (short + long) // 2
        if _overall(most, middle, settings) < low:
            short = middle + 1
        else:
            long = middle
    return short


def _mixes(records: int, low: float, high: float, settings: DriftSettings) -> Iterator[_Mix]:
    """Yield mixes to try: few signals first, each at its most, then with one of them made to fit."""
    switches = sorted(product((False, True), repeat=4), key=sum)
    for missed, idle, looping, dropping in switches:
        yield _Mix(0 if missed else 1, 1, looping, float(idle), float(dropping))
    wanted = (low + min(high, 1.0)) / 2
    weights = settings.signal_weights
    for missed, idle, looping, _ in switches:
        mix = _Mix(0 if missed else 1, 1, looping, float(idle), 0.0)
        lacking = wanted - _overall(mix, records, settings)
        if weights["quality_degradation"]:
            yield mix._replace(quality_drop=min(1.0, max(0.0, lacking / weights["quality_degradation"])))
        if not idle and weights["budget_velocity"]:
            yield mix._replace(slowness=min(1.0, max(0.0, lacking / weights["budget_velocity"])))
        if not missed and weights["goal_dna_drift"]:
            share = min(1.0, max(0.0, lacking / weights["goal_dna_drift"]))
            for words in _GOAL_WORDS:
                yield mix._replace(covered=words - round(share * words), words=words)


def _overall(mix: _Mix, records: int, settings: DriftSettings) -> float:
    """Return the overall drift of the last of so many records."""
    least = settings.min_velocity
    signals = {
        "goal_dna_drift": 1 - mix.covered / mix.words,
        "loop_risk": _loop_risk(mix, records, settings),
        "budget_velocity": max(0.0, (least - r4(_pace(mix, settings))) / least),
        "quality_degradation": mix.quality_drop if records >= 2 else 0.0,
        "stuck_time": min(1.0, records / settings.stuck_horizon) if _is_idle(mix, settings) else 0.0,
    }
    return drift_overall(signals, settings.signal_weights)


def _loop_risk(mix: _Mix, records: int, settings: DriftSettings) -> float:
    """Return the confidence of A4 in the last of so many records, as `_record` makes them."""
    held = min(records, settings.loop_window_size)
    if not settings.enable_all_strategies:
        return float(mix.looping and settings.exact_hash_threshold <= held)
    if records == 1 or mix.looping:
        return float(records > 1)
    # Each two records share all goal words and differ in one word.
    common = mix.covered if mix.covered < mix.words else 0
    alike = r4(common / (common + 2))
    stuck = 0.8 if _is_idle(mix, settings) and settings.dead_end_threshold <= held else 0.0
    return max(stuck, alike if alike >= settings.semantic_threshold else 0.0)


def _pace(mix: _Mix, settings: DriftSettings) -> float:
    """Return the progress of each record, as a share of the task."""
    return settings.min_velocity * (1.0 - mix.slowness)


def _is_idle(mix: _Mix, settings: DriftSettings) -> bool:
    return _pace(mix, settings) == 0.0


def _record(
    number: int, last: int, mix: _Mix, status: str, settings: DriftSettings, maker: RecordMaker
) -> DecisionLog:
    """Return a record of the sequence: the quality drops with the last, all else is as at the end."""
    state: dict[str, Any] = {}
    if mix.slowness:
        state["progress_delta"] = _pace(mix, settings)
    elif status == "failure":
        state["added_to_memory"] = ["a note"]  # else a failure would count as no progress
    if mix.quality_drop:
        state["context_quality"] = 1.0 if number < last else 1.0 - mix.quality_drop
    intent = "try again" if mix.looping else f"try{number}"
    goal = None
    if mix.covered < mix.words:  # else it is as if there was no goal
        goal = _goal(mix.words)
        intent = f"{intent} {_goal(mix.covered)}".strip()
    return maker.record(number, {"status": status}, intent=intent, goal=goal, state=state or None)


def _goal(words: int) -> str:
    return " ".join([*_WORDS, *(f"word{n}" for n in range(len(_WORDS), words))][:words])

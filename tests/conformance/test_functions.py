"""The pure functions against their conformance vectors (specification 10)."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from streams.core.detectors.drift.detector import drift_trend
from streams.core.detectors.drift.signals import drift_level, drift_overall
from streams.core.detectors.settings import DEFAULTS
from streams.core.detectors.verdict.answer import is_infrastructure
from streams.core.domain.aggregates.task_profile import recommend
from streams.core.domain.number import r4
from streams.core.domain.text.canonical import canonical
from streams.core.domain.text.marks import jaccard, tokens
from streams.core.domain.text.result_text import normalise_result
from streams.core.policy.witness import reachability
from streams.core.settings_document import resolve

VECTOR_FILES = ("functions",)


def _reachability(document: dict[str, Any]) -> list[dict[str, Any]]:
    settings, warnings = resolve(document, DEFAULTS, 1)
    assert not warnings
    return [
        {
            "rule": row.rule,
            "level": row.level,
            "reachable": row.reachable,
            "shortest": row.shortest,
            "disabled": row.disabled,
        }
        for row in reachability(settings)
    ]


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "canonical_input": canonical,
    "normalise_result": normalise_result,
    "tokens": lambda text: sorted(tokens(text)),
    "jaccard_text": lambda one, other: r4(jaccard(tokens(one), tokens(other))),
    "is_infrastructure": is_infrastructure,
    "drift_overall": lambda signals: drift_overall(signals, DEFAULTS.signal_weights),
    "drift_level": lambda overall: drift_level(overall, DEFAULTS),
    "drift_trend": lambda overalls: drift_trend(overalls, DEFAULTS.trend_window)._asdict(),
    "recommend": partial(recommend, buffer=DEFAULTS.profile_buffer),
    "reachability": _reachability,
}


def test_function_vector(vector: dict[str, Any]) -> None:
    result = FUNCTIONS[vector["function"]](*vector["args"])
    match vector["function"], vector["expected"]:
        case "reachability", rows:
            found = [each.items() for each in result]
            assert [row for row in rows if not any(row.items() <= each for each in found)] == []
        case _, float() as number:
            assert result == pytest.approx(number, abs=1e-9)
        case _, expected:
            assert result == expected


def test_every_vector_of_the_file_is_run(conformance_dir: Path) -> None:
    document = json.loads((conformance_dir / "functions.json").read_text(encoding="utf-8"))
    assert len(document["vectors"]) == document["count"]
    assert {vector["function"] for vector in document["vectors"]} == FUNCTIONS.keys()

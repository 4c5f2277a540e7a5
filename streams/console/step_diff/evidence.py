"""The evidence for a verdict, as `eddy explain` lists it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from streams.operate.explain.explanation import Explanation
from streams.operate.explain.presentation import meaning, sentence, summaries
from streams.operate.explain.verdict import fired_now, near_misses


def evidence(told: Explanation, standing: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the rules that fired with their evidence, the course of the episodes, and the newest scores.

    Args:
        told: What `eddy explain` gathers of the session.
        standing: Where the session stands, None if that is not known.
    """
    newest = told.newest.enriched["eddy"] if told.newest is not None else {}
    return {
        "firings": [
            {
                "rule": each.rule,
                "level": each.level,
                "evidence": each.evidence,
                "first": each.first,
                "last": each.last,
                "times": each.times,
            }
            for each in told.firings.values()
        ],
        "course": [_turn(fields) for fields in told.course],
        "reached": fired_now(standing["rules"]) if standing and not standing["ended"] else [],
        "near": near_misses(standing["rules"]) if standing and not standing["ended"] else [],
        "summaries": [{"name": name, "text": text} for name, text in summaries(newest)] if newest else [],
    }


def _turn(fields: Mapping[str, Any]) -> dict[str, Any]:
    found = meaning(fields)
    return {
        "offset": fields["offset"],
        "partition": fields["partition"],
        "at": fields["timestamp"],
        "phase": fields.get("phase"),
        "level": found.level.value if found.level is not None else None,
        "over": found.over,
        "what": sentence(fields),
    }

"""How it shows in a scored record that a rule fired at a level."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from streams.domain.decision import Decision


def fires(
    rule: str, level: str, decision: Decision, eddy: Mapping[str, Any], kinds: Mapping[str, int]
) -> bool:
    """Tell whether a rule, named as in `streams.policy.reachability`, fired with this record.

    Args:
        rule: its name.
        level: A1 and A5 fire where they stand at this level, R1 to R5 where they reached it; for the others
            there is only one.
        decision: the record.
        eddy: its block.
        kinds: `repeat_thresholds`; a kind that is not among them is one of ``A2:default``.
    """
    family, _, part = rule.partition(":")
    match family:
        case "A1":
            block = eddy.get("uniqueness")
            return block is not None and bool(block["severity"] == level)
        case "A2":
            block = eddy.get("repeat")
            kind = decision.kind if decision.kind in kinds else "default"
            return block is not None and block["fired"] and kind == part
        case "A3":
            block = eddy.get("patterns")
            if block is None:
                return False
            return bool(block["escalations"]) if part == "escalation" else part in block["alerts"]
        case "A4":
            block = eddy.get("loop")
            return block is not None and block["all_detections"][part] is not None
        case "A5":
            block = eddy.get("drift")
            return block is not None and bool(block["level"] == level)
        case _:
            block = eddy.get("verdict")
            return block is not None and any(
                fired["level"] == level and _is_meant(fired, family, part, decision.status)
                for fired in block.get("fired") or ()
            )


def _is_meant(fired: Mapping[str, Any], family: str, part: str, status: str) -> bool:
    if fired["rule"] != family:
        return False
    match family:
        case "R1":
            return (status == "failure") == (part == "failing")
        case "R2":
            return part == f"period{fired['period']}"
        case _:
            return True

"""Settings that speak of single tools: `ToolGroup` and `ToolPolicy` in a settings document."""

from __future__ import annotations

from collections.abc import Mapping

from streams.core.domain.settings.setting import AFFORDABLE, Range, distinct_texts, is_text, read_all
from streams.core.domain.text.glob import are_affordable
from streams.core.domain.tool_class import PolicyMode, ToolGroup, ToolPolicy


def groups() -> Range:
    """Take a list of {group, patterns}, none twice."""

    def read(value: object) -> tuple[ToolGroup, ...] | None:
        if not isinstance(value, list | tuple):
            return None
        found = [group for group in map(_group, value) if group is not None]
        affordable = are_affordable(pattern for group in found for pattern in group.patterns)
        return tuple(found) if len(set(found)) == len(value) and affordable else None

    def write(value: tuple[ToolGroup, ...]) -> object:
        return [{"group": entry.group, "patterns": list(entry.patterns)} for entry in value]

    wanted = (
        f"a list, without repetition, of {{group: non-empty text, patterns: list of texts}}, {AFFORDABLE}"
    )
    return Range(wanted, read, write)


def policies(limit: Range) -> Range:
    """Take a map of patterns over tool names to policies, in order; ``limit`` is what warn and loop may be.

    Modes are those of specification 4.1: exempt alone, polling with limits if wanted, limits with both.
    """

    def read(value: object) -> tuple[ToolPolicy, ...] | None:
        if not isinstance(value, Mapping):
            return None
        found = [_policy(glob, entry, limit) for glob, entry in value.items()]
        policies = tuple(policy for policy in found if policy is not None)
        affordable = are_affordable(policy.glob for policy in policies)
        return policies if len(policies) == len(found) and affordable else None

    def write(value: tuple[ToolPolicy, ...]) -> object:
        return {policy.glob: _entry(policy) for policy in value}

    modes = "{mode: exempt}, {mode: polling, warn?, loop?} or {mode: limits, warn, loop}"
    wanted = f"a map of tool patterns to {modes}, warn <= loop and each {limit.wanted}, {AFFORDABLE}"
    return Range(wanted, read, write)


def _group(value: object) -> ToolGroup | None:
    match value:
        case {"group": group, "patterns": listed, **other} if not other and group and is_text(group):
            patterns = distinct_texts(listed)
            return None if patterns is None else ToolGroup(group, patterns)
    return None


def _policy(glob: object, value: object, limit: Range) -> ToolPolicy | None:
    if not isinstance(glob, str) or not is_text(glob) or not isinstance(value, Mapping):
        return None
    limits: dict[str, int] | None = read_all({name: value[name] for name in value if name != "mode"}, limit)
    if limits is None or ("warn" in limits and "loop" in limits and limits["warn"] > limits["loop"]):
        return None
    match value.get("mode"), set(limits):
        case "exempt", names if not names:
            return ToolPolicy(glob, PolicyMode.exempt)
        case "polling", names if names <= {"warn", "loop"}:
            return ToolPolicy(glob, PolicyMode.polling, **limits)
        case "limits", names if names == {"warn", "loop"}:
            return ToolPolicy(glob, PolicyMode.limits, **limits)
    return None


def _entry(policy: ToolPolicy) -> dict[str, object]:
    entry = {"mode": str(policy.mode), "warn": policy.warn, "loop": policy.loop}
    return {name: value for name, value in entry.items() if value is not None}

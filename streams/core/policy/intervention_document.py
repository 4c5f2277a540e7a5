"""The document of automatic policies: read with every problem named, and written. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from typing import Any, Final, NamedTuple

from streams.core.domain.text.glob import are_affordable
from streams.core.policy.intervention import PHASES, Do, Limits, Mode, Policy, PolicyLimits, Rule, When
from streams.core.policy.spending import Measure

_DAY_MS: Final = 86_400_000
_MOST_RULES: Final = 50
_MOST_NAMES: Final = 200
_MOST_STEPS: Final = 5
_LONGEST_NAME: Final = 100
_LONGEST_MESSAGE: Final = 4_000


def read(document: Mapping[str, Any], version: int) -> tuple[Policy, tuple[str, ...]]:
    """Return the policy that a document says, and what is wrong with it; with a problem, the policy is off.

    >>> read({"mode": "dry_run", "rules": [{"name": "costly", "do": {"action": "pause"}}]}, 1)[0].rules[
    ...     0
    ... ].name
    'costly'
    >>> read({"mode": "on", "rules": []}, 1)[1]
    ('mode: must be off, dry_run or live.',)
    """
    problems: list[str] = []
    _known(document, ("mode", "rules", "limits", "version", "changed"), "", problems)
    mode = document.get("mode", Mode.OFF)
    if mode not in tuple(Mode):
        problems.append("mode: must be off, dry_run or live.")
    limits = _checked(document.get("limits", {}), _POLICY_LIMITS, "limits", problems)
    given = document.get("rules", [])
    if not isinstance(given, list) or len(given) > _MOST_RULES:
        problems.append(f"rules: must be a list of at most {_MOST_RULES} rules.")
        given = []
    rules = [_rule(each, f"rules[{number}]", problems) for number, each in enumerate(given)]
    names = [rule.name for rule in rules if rule is not None]
    problems += [
        f"rules: {name!r} is the name of two." for name in dict.fromkeys(names) if names.count(name) > 1
    ]
    if problems:
        return Policy(version=version), tuple(problems)
    kept = tuple(rule for rule in rules if rule)
    return Policy(version=version, mode=Mode(mode), rules=kept, limits=PolicyLimits(**limits)), ()


def _rule(given: object, at: str, problems: list[str]) -> Rule | None:
    if not isinstance(given, dict):
        problems.append(f"{at}: must be an object.")
        return None
    count = len(problems)
    _known(given, ("name", "when", "do", "limits"), at, problems)
    name = given.get("name")
    if not isinstance(name, str) or not 0 < len(name) <= _LONGEST_NAME:
        problems.append(f"{at}.name: must be a text of 1 to {_LONGEST_NAME} characters.")
    when = _checked(given.get("when", {}), _WHEN, f"{at}.when", problems)
    if when.get("spending"):
        names = [each for each in _OF_LOOPS if when.get(each)]
        problems += [f"{at}.when.{each}: a rule about spending has none." for each in names]
    do = _ladder(given.get("do", {}), f"{at}.do", problems)
    limits = _checked(given.get("limits", {}), _LIMITS, f"{at}.limits", problems)
    limits.pop("per_episode", None)
    if len(problems) > count:
        return None
    return Rule(name=str(name), when=When(**when), do=do, limits=Limits(**limits))


def _ladder(given: object, at: str, problems: list[str]) -> tuple[Do, ...]:
    """Return the steps of a rule: a list of them, or one alone."""
    if not isinstance(given, list):
        step = _step(given, at, problems, first=True)
        return () if step is None else (step,)
    if not 0 < len(given) <= _MOST_STEPS:
        problems.append(f"{at}: must be a step, or a list of 1 to {_MOST_STEPS} steps.")
        return ()
    steps = [_step(each, f"{at}[{number}]", problems, first=not number) for number, each in enumerate(given)]
    return tuple(step for step in steps if step is not None)


def _step(given: object, at: str, problems: list[str], *, first: bool) -> Do | None:
    count = len(problems)
    do = _checked(given, _DO, at, problems)
    if "action" not in do and isinstance(given, dict) and "action" not in given:
        problems.append(f"{at}.action: must be {_DO['action'].wanted}.")
    if do.get("action") != "inject_message" and (do.get("message") is not None or do.get("quote_tools")):
        problems.append(f"{at}.message: only inject_message has one.")
    if first and do.get("action") == "abort":
        problems.append(f"{at}.action: an abort is never the first step: let a note or a pause come before.")
    if not first and not do.get("after_records"):
        problems.append(f"{at}.after_records: say how many records of the loop later, 1 or more.")
    if first and do.get("after_records"):
        problems.append(f"{at}.after_records: the first step comes when the rule is about the event.")
    return Do(**do) if len(problems) == count else None


class _Check(NamedTuple):
    wanted: str
    fits: Callable[[Any], bool]  # of any value that JSON has


def _texts(known: Iterable[str] = ()) -> _Check:
    names = tuple(known)
    wanted = f"a list of {', '.join(names)}" if names else "a list of patterns"

    def fits(value: object) -> bool:
        if not isinstance(value, list) or len(value) > _MOST_NAMES:
            return False
        if not all(isinstance(each, str) for each in value):
            return False
        return set(value) <= set(names) if names else are_affordable(value)

    return _Check(wanted, fits)


def _word(*known: str) -> _Check:
    return _Check(" or ".join(known), lambda value: isinstance(value, str) and value in known)


def _number(low: float, high: float, *, whole: bool = False) -> _Check:
    kinds = (int,) if whole else (int, float)

    def fits(value: object) -> bool:
        return isinstance(value, kinds) and not isinstance(value, bool) and low <= value <= high

    return _Check(f"{'an integer' if whole else 'a number'} from {low:g} to {high:g}", fits)


def _or_none(check: _Check) -> _Check:
    return _Check(f"{check.wanted}, or null", lambda value: value is None or check.fits(value))


_MOST: Final = 1e15
_WHEN: Final = {
    "phase": _texts(PHASES),
    "level": _or_none(_word("WARNING", "LOOP")),
    "rules": _texts(("R1", "R2", "R3", "R4", "R5", "R6", "R7", "R8", "R9")),
    "min_tokens_since_onset": _or_none(_number(0, _MOST)),
    "min_cost_since_onset": _or_none(_number(0, _MOST)),
    "min_minutes_since_onset": _or_none(_number(0, _MOST)),
    "agents": _texts(),
    "tools": _texts(),
    "task_types": _texts(),
    "spending": _texts(map(str, Measure)),
}
#: What only loops have.
_OF_LOOPS: Final = ("level", "rules", "tools")
_DO: Final = {
    "action": _word("inject_message", "pause", "abort"),
    "after_records": _number(0, 100_000, whole=True),
    "ttl_ms": _number(1_000, _DAY_MS, whole=True),
    "on_timeout": _word("resume"),
    "message": _or_none(
        _Check(
            f"a text of at most {_LONGEST_MESSAGE:,} characters",
            lambda value: isinstance(value, str) and 0 < len(value) <= _LONGEST_MESSAGE,
        )
    ),
    "quote_tools": _Check("true or false", lambda value: isinstance(value, bool)),
}
_POLICY_LIMITS: Final = {
    "per_hour": _number(1, 100_000, whole=True),
    "per_hour_per_agent": _number(1, 100_000, whole=True),
}
_LIMITS: Final = {
    # Earlier versions wrote it; the ladder says how often a rule acts on an episode.
    "per_episode": _number(1, 1, whole=True),
    "per_10_min": _number(1, 1_000, whole=True),
    "max_share_of_live": _number(0.0, 1.0),
}


def _checked(given: object, checks: Mapping[str, _Check], at: str, problems: list[str]) -> dict[str, Any]:
    if not isinstance(given, dict):
        problems.append(f"{at}: must be an object.")
        return {}
    _known(given, checks, at, problems)
    found: dict[str, Any] = {}
    for name, check in checks.items():
        if name not in given:
            continue
        if not check.fits(given[name]):
            problems.append(f"{at}.{name}: must be {check.wanted}.")
            continue
        value = given[name]
        found[name] = tuple(value) if isinstance(value, list) else value
    return found


def _known(given: Mapping[str, Any], names: Iterable[str], at: str, problems: list[str]) -> None:
    where = f"{at}." if at else ""
    problems += [f"{where}{name[:80]}: is no field." for name in given if name not in set(names)]


def document(policy: Policy) -> dict[str, Any]:
    """Return a policy as a document, without what is a default; `read` returns the same policy for it."""
    limits = _values(policy.limits)
    return {
        "mode": str(policy.mode),
        "rules": [_written(rule) for rule in policy.rules],
        **({"limits": limits} if limits else {}),
    }


def _written(rule: Rule) -> dict[str, Any]:
    steps = [_values(each) for each in rule.do]
    parts = {"when": _values(rule.when), "do": steps[0] if len(steps) == 1 else steps}
    parts["limits"] = _values(rule.limits)
    return {"name": rule.name, **{name: part for name, part in parts.items() if part}}


def _values(part: When | Do | Limits | PolicyLimits) -> dict[str, Any]:
    values = {
        each.name: getattr(part, each.name)
        for each in fields(part)
        if getattr(part, each.name) != each.default
    }
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}

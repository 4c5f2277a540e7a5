"""For each rule and level whether it can fire, and the shortest sequence of records that shows it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from streams.core.detectors.registry import REGISTERED, rules_of
from streams.core.detectors.settings import DetectionSettings
from streams.core.domain.tool_class import PolicyMode, ToolClass, first_policy, tool_class
from streams.core.domain.witness import ANY_CLASS, DecisionLog, Obstacle, Reachability, Witness

# Tried first, because a person knows what they do.
_FAMILIAR = ("search", "read_file", "edit_file", "bash", "fetch_page", "lookup", "query", "x", "a1", "z9")

# Globs of each setting: it may hold thousands, and each may have to be tried on the name made of each.
_MOST_TRIED = 100


def tool_name(
    settings: DetectionSettings,
    classes: Collection[ToolClass] = ANY_CLASS,
    policies: Collection[PolicyMode | None] | None = None,
) -> str | None:
    """Return a name of one of the classes, under one of the policies (None: without one); any when not given.

    None when there is none among the familiar names and those made of the first globs of each setting.

    >>> from streams.core.detectors.settings import DEFAULTS
    >>> tool_name(DEFAULTS, {ToolClass.command}), tool_name(DEFAULTS, policies={PolicyMode.polling})
    ('bash', None)
    """
    for name in _candidates(settings):
        if tool_class(name, settings) in classes and (policies is None or _mode(name, settings) in policies):
            return name
    return None


def _candidates(settings: DetectionSettings) -> Iterator[str]:
    yield from _FAMILIAR
    policies = [policy.glob for policy in settings.tool_policies[:_MOST_TRIED]]
    for globs in (settings.read_tools, settings.write_tools, settings.command_tools, policies):
        yield from filter(None, map(_sample, globs[:_MOST_TRIED]))


def _mode(name: str, settings: DetectionSettings) -> PolicyMode | None:
    policy = first_policy(name, settings.tool_policies)
    return None if policy is None else policy.mode


def _sample(glob: str) -> str:
    """Return a name that may fit a glob: the least text for each wildcard.

    >>> _sample("get_*"), _sample("v[0-9]?"), _sample("[!a]x")
    ('get_', 'v0a', '_x')
    """
    name, at = "", 0
    while at < len(glob):
        letter = glob[at]
        at += 1
        if letter == "?":
            name += "a"
        elif letter == "[" and (end := glob.find("]", at + 1)) > 0:
            name += "_" if glob[at] == "!" else glob[at]
            at = end + 1
        elif letter != "*":
            name += letter
    return name


SESSION_ID = "witness"

_START_MS = 1_700_000_000_000
_PACE_MS = 1_000


@dataclass(frozen=True, slots=True)
class WitnessRecordMaker:
    """Makes records under these settings (`streams.core.domain.witness.RecordMaker`)."""

    settings: DetectionSettings

    def record(
        self,
        number: int,
        action: Mapping[str, str],
        *,
        intent: str | None = None,
        goal: str | None = None,
        state: Mapping[str, Any] | None = None,
        at_ms: int | None = None,
    ) -> DecisionLog:
        """Return the record of this number, from 1, with this `action`; without an intent, no cognition.

        It comes ``at_ms`` after the start; if that is not given, so that nothing counts as a pause.

        >>> from streams.core.detectors.settings import DEFAULTS
        >>> WitnessRecordMaker(DEFAULTS).record(2, {"status": "success"})["event_id"]
        'witness-2'
        """
        after = number * _pace(self.settings) if at_ms is None else at_ms
        value: DecisionLog = {
            "session_id": SESSION_ID,
            "event_id": f"{SESSION_ID}-{number}",
            "meta": {"trace_id": SESSION_ID, "timestamp": _START_MS + after},
            "identity": {"agent_id": SESSION_ID, "agent_type": SESSION_ID},
            "action": dict(action),
        }
        if intent is not None:
            value["cognition"] = {"intent": intent} if goal is None else {"intent": intent, "goal": goal}
        if state is not None:
            value["state_delta"] = dict(state)
        return value

    def tool_name(
        self,
        classes: Collection[ToolClass] = ANY_CLASS,
        policies: Collection[PolicyMode | None] | None = None,
    ) -> str | None:
        """Return a name under these settings (`streams.core.policy.witness`)."""
        return tool_name(self.settings, classes, policies)


def _pace(settings: DetectionSettings) -> int:
    """Return the ms from record to record: too few to count as polling, and for the session to expire."""
    limits = [_PACE_MS]
    if settings.poll_gap_ms:
        limits.append(settings.poll_gap_ms - 1)
    if settings.failure_gap_ms:
        limits.append(settings.failure_gap_ms - 1)
    if settings.session_ttl_ms:
        limits.append(settings.session_ttl_ms)
    return min(limits)


def witness(row: Reachability, settings: DetectionSettings) -> Witness | Obstacle:
    """Return the shortest sequence that makes a rule reach its level under the settings of the table.

    It has as many records as the table says, but for three rows that specification 4.3 counts differently: an
    escalation (A3) counts matching records, and a pattern takes a few before the first one matches; the
    level of a response (A5) may need signals that no first record has; and if no multiple of 2 lies between
    the limits of R7, its WARNING takes other steps too.

    Raises:
        ValueError: the row is not reachable.
    """
    if row.shortest is None:
        raise ValueError(f"{row.rule} cannot reach {row.level}: {row.why}")
    _, rules = rules_of(row.rule)
    return rules.witness(row, row.shortest, settings, WitnessRecordMaker(settings))


def reachability(settings: DetectionSettings) -> tuple[Reachability, ...]:
    """Return a row for each (rule, level), in the order of specification 4.3.

    Rules: A1, A2:<kind>, A3:<pattern>, A3:escalation, A4:<detector>, A5, R1, R1:failing, R2:period<p>,
    R2:longer, R7, R9. Levels are those of specification 1.5; for A5
    they are its response levels.

    >>> from streams.core.detectors.settings import DEFAULTS
    >>> loop, warning = reachability(DEFAULTS)[:2]
    >>> (loop.rule, loop.level, loop.shortest), (warning.level, warning.shortest)
    (('A1', <Level.LOOP: 'LOOP'>, 5), (<Level.WARNING: 'WARNING'>, 3))
    """
    of_all = (detector.rules for detector in REGISTERED if detector.rules is not None)
    return tuple(row for rules in of_all for row in rules.reachability(settings))

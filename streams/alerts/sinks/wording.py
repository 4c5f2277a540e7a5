"""The words of every sink: what loops, what it has cost, since when, and where to look."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

from streams.alerts.sinks.sink import Alert, Delivery, DeliveryStep
from streams.core.detectors.verdict.episode import Phase
from streams.core.detectors.verdict.presentation import pattern
from streams.core.domain.event_kind import EventKind
from streams.core.domain.level import Level
from streams.core.domain.text.figures import duration, has_time, moment
from streams.core.domain.text.printable import printable
from streams.core.policy.silence import SILENT
from streams.operate.explain.explanation import sentence

_NAME: Final = 60
_LONGEST: Final = 400
_NAMED: Final = 5
"""Sessions that a digest names."""

_STUCK: Final = "stuck"
"""How the words of the one rule begin whose pattern is no call that repeats."""

_WAITING: Final = "R9"
_ENDS: Final = {
    "quiet": "is out of the loop",
    "terminal": "ended in the loop",
    "expired": "fell silent in the loop",
}


@dataclass(frozen=True, slots=True)
class Wording:
    """Words in the way of this installation.

    Attributes:
        console_url: Where the console is, without a slash at its end; None if there is none.
        currency: In front of costs.
    """

    console_url: str | None = None
    currency: str = "$"

    def headline(self, delivery: Delivery) -> str:
        """Return who loops and by what, or that it is over."""
        alert = delivery.alert
        agent = printable(alert.agent_id or "An agent", _NAME)
        if alert.kind == EventKind.HANDOVER_LOOP:
            return printable(sentence(alert.fields), _LONGEST)
        if alert.kind != EventKind.LOOP_EPISODE:
            return printable(f"{agent}: {sentence(alert.fields)}", _LONGEST)
        state, what = _state(delivery), _what(alert)
        if not what.startswith(_STUCK):
            return printable(f"{agent} {state}. {what}", _LONGEST)
        if delivery.step is DeliveryStep.RESOLVE:
            return printable(f"{agent} {state}. It was {what}", _LONGEST)
        state = state.replace("looping", _STUCK)
        return printable(f"{agent} {state}{what.removeprefix(_STUCK)}", _LONGEST)

    def facts(self, delivery: Delivery) -> str:
        """Return since when, and what it has cost since then; the time in UTC."""
        alert = delivery.alert
        if alert.kind == EventKind.SILENT_SESSION and alert.phase == SILENT:
            return f"Its last step came at {_time(alert.timestamp, alert.timestamp)}"
        if alert.kind == EventKind.OVERSPENDING:
            return f"At {_time(alert.timestamp, alert.timestamp)}, {self.spent(alert)} in all"
        if alert.kind != EventKind.LOOP_EPISODE:
            return f"At {_time(alert.timestamp, alert.timestamp)}"
        return f"Since {self.since(alert)}, {self.spent(alert)}"

    def since(self, alert: Alert) -> str:
        """Return since when it loops, and for how long it has.

        The time is that of the first record of the pattern, as the agent tells it.
        """
        began = _whole(alert.fields, "first_timestamp", alert.timestamp)
        newest = _whole(alert.fields, "last_timestamp", alert.timestamp)
        lasted = f" ({duration(newest - began)})" if newest > began and has_time(began) else ""
        return f"{_time(began, alert.timestamp)}{lasted}"

    def spent(self, alert: Alert) -> str:
        """Return what it has cost since then, as far as the agent reports it."""
        tokens, cost = alert.fields.get("tokens_since_onset"), alert.fields.get("cost_since_onset")
        parts = []
        if isinstance(cost, int | float) and cost and math.isfinite(cost):
            parts.append(f"{self.currency}{cost:,.2f}" if cost >= 0.01 else f"{self.currency}{cost:.4f}")
        if isinstance(tokens, int | float) and tokens and math.isfinite(tokens):
            parts.append(f"{tokens:,.0f} tokens")
        return "cost " + ", ".join(parts) if parts else "cost not reported"

    def line(self, delivery: Delivery) -> str:
        """Return all of it in one line, without the link."""
        return f"{self.headline(delivery)}. {self.facts(delivery)}."

    def link(self, session_id: str) -> str | None:
        """Return the address of the session in the console.

        >>> Wording("https://eddy.example").link("s/1")
        'https://eddy.example/session?id=s%2F1'
        """
        if self.console_url is None:
            return None
        return f"{self.console_url}/session?id={quote(session_id, safe='', errors='replace')}"

    @property
    def inbox(self) -> str | None:
        """The address of all that loops."""
        return None if self.console_url is None else f"{self.console_url}/"


def tally(deliveries: Sequence[Delivery]) -> str:
    """Return what a digest says: how many, and which of them.

    It does not say which session is worst: the console does.
    """
    over = [each for each in deliveries if each.step is DeliveryStep.RESOLVE]
    going_on = [each for each in deliveries if each.step is not DeliveryStep.RESOLVE]
    silent = [each for each in going_on if each.alert.kind == EventKind.SILENT_SESSION]
    spending = [each for each in going_on if each.alert.kind == EventKind.OVERSPENDING]
    looping = [each for each in going_on if each not in silent and each not in spending]
    parts = []
    if looping:
        parts.append(f"{_sessions(len(looping))} {'loops' if len(looping) == 1 else 'loop'}")
    if silent:
        parts.append(f"{_sessions(len(silent))} {'is' if len(silent) == 1 else 'are'} silent")
    if spending:
        parts.append(f"{_sessions(len(spending))} {'overspends' if len(spending) == 1 else 'overspend'}")
    if over:
        parts.append(f"{_sessions(len(over))} {'is' if len(over) == 1 else 'are'} out of the loop")
    named = [
        f"{printable(each.alert.agent_id or 'an agent', _NAME)} ({printable(each.alert.session_id, _NAME)})"
        for each in (*looping, *silent, *spending, *over)[:_NAMED]
    ]
    rest = len(deliveries) - len(named)
    return f"{', '.join(parts)}: {', '.join(named)}{f' and {rest} more' if rest else ''}"


def _sessions(count: int) -> str:
    return f"{count} more session{'' if count == 1 else 's'}"


def _state(delivery: Delivery) -> str:
    alert = delivery.alert
    does = "waiting in vain" if alert.fields.get("rule") == _WAITING else "looping"
    match delivery.step:
        case DeliveryStep.RESOLVE if delivery.refuted:
            return "does not loop, a person says"
        case DeliveryStep.RESOLVE:
            return _ENDS.get(str(alert.fields.get("reason")), "is out of the loop")
        case DeliveryStep.UPDATE:
            return f"is still {does}"
        case _:
            does = f"is {does}" if alert.level.at_least(Level.LOOP) else f"may be {does}"
            is_back = alert.fields.get("reopened") and alert.phase == Phase.OPENED
            return f"{does} again" if is_back else does


def _what(alert: Alert) -> str:
    """Return what repeats. An alert of a later version may have a rule that is not known here."""
    try:
        return pattern(alert.fields)
    except (KeyError, TypeError, ValueError, AttributeError):
        return f"Rule {printable(alert.rule, _NAME)}"


def _time(timestamp: int, beside: int) -> str:
    """Return a time of day, with its day unless that is the day of the alert."""
    return f"{moment(timestamp, beside)} UTC" if has_time(timestamp) else "a time that the agent did not say"


def _whole(fields: Any, name: str, otherwise: int) -> int:
    value = fields.get(name)
    return value if isinstance(value, int) else otherwise

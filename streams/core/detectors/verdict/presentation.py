"""The verdict in words: what repeats, since when, what it has cost, and whether it is over."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import ClassVar, Final

from streams.core.detectors.detector import Fields, Fired, Meaning, Presentation, rule_name
from streams.core.detectors.verdict import cycle, identical, stuck_words, waiting
from streams.core.detectors.verdict.episode import Phase
from streams.core.domain.event_kind import EventKind
from streams.core.domain.level import Level
from streams.core.domain.text.figures import count, dollars, duration, has_time, moment
from streams.core.domain.text.printable import printable

_RULES: Final = {
    "R1": identical.SENTENCE,
    "R2": cycle.SENTENCE,
    "R9": waiting.SENTENCE,
}
#: Records that earlier versions wrote have rules that are no more.
_RULES_THAT_WENT: Final = {
    "R3": "{tools}: the same error {count} times, whatever the arguments",
    "R4": "{tools}: the same result {count} times in a row, whatever the arguments",
    "R5": "{tools}: {count} calls in a row in nearly the same words, with nearly the same results",
    "R6": "{tools}: {count} calls in a row that were all made before, with the same results",
    "R8": "{count} steps that told the agent nothing new, the newest of {tools}",
}
_STUCK: Final = "R7"
_WAITING: Final = "R9"
_LONG_MS: Final = 60_000

_ENDS: Final = {
    "quiet": "out of the loop",
    "terminal": "the session ended in the loop",
    "expired": "the session fell silent in the loop",
}
_ENDED: Final = "the loop is over"
"""For a reason that only a newer worker knows."""


class VerdictPresentation(Presentation):
    """The course of an episode, and the rule that gives its level."""

    __slots__ = ()

    events: ClassVar[tuple[EventKind, ...]] = (EventKind.LOOP_EPISODE,)

    def meaning(self, fields: Fields) -> Meaning:
        """Return the level of the episode, and whether it still holds."""
        return Meaning(
            alert=fields["event_type"],
            level=Level(fields["level"]),
            news=fields["phase"] != Phase.STILL_OPEN,
            over=fields["phase"] == Phase.RECOVERED,
        )

    def sentence(self, fields: Fields) -> str:
        """Return what an event of an episode says.

        >>> what = {"rule": "R3", "period": None, "count": 6, "tools": ["edit"]}
        >>> since = {"first_timestamp": 1_700_000_000_000, "tokens_since_onset": 3000}
        >>> VerdictPresentation().sentence({"phase": "escalated", "level": "LOOP", **what, **since})
        'edit: the same error 6 times, whatever the arguments (R3); since 22:13:20: 3,000 tokens'
        >>> later = {"phase": "still_open", "level": "LOOP", "last_timestamp": 1_700_000_720_000}
        >>> VerdictPresentation().sentence({**what, **since, **later})[-41:]
        ' since 22:13:20, 12 min 0 s: 3,000 tokens'
        """
        began, lasting, spent = fields["first_timestamp"], _lasting(fields), _spent(fields)
        time = f" since {moment(began, fields.get('timestamp', began))}" if has_time(began) else ""
        if fields["rule"] == _STUCK:
            since = f"{time} ({lasting})" if lasting else time
            why = stuck_words.because(fields.get("stuck"))
            text = f"{_phase(fields)}stuck{since}{why} ({_STUCK})"
            return f"{text}; {spent}" if spent else text
        if not time:
            text = f"{_phase(fields)}{pattern(fields)}"
            return f"{text}; {spent}" if spent else text
        since = f"{time}, {lasting}" if lasting else time
        text = f"{_phase(fields)}{pattern(fields)};{since}"
        return f"{text}: {spent}" if spent else text

    def fired(self, block: Fields, tool: str) -> Iterator[Fired]:
        """Yield each rule that fired, whether an episode changed by it or not."""
        for each in block.get("fired") or ():
            rule = rule_name(each["rule"], each["period"])
            evidence = f"count {each['count']}"
            if rule == _STUCK:
                evidence = f"score {block['stuck']['score']:g}, raised {stuck_words.times(each['count'])}"
            elif rule == _WAITING:
                evidence = f"{each['count']} looks"
            yield Fired(rule, each["level"], f"{evidence}, {tool}")

    def summary(self, block: Fields) -> str:
        """Return the stuck score, and what the step is beside those before it.

        >>> stuck = {"score": 3.0, "kind": "back", "points": 1.0, "refers_to": 41}
        >>> VerdictPresentation().summary({"stuck": stuck})
        'stuck score 3; last step +1: an earlier step with the same result, offset 41'
        """
        return stuck_words.summary(block.get("stuck"))


def pattern(fields: Fields) -> str:
    """Return what repeats, and the rule that found it; a newer worker may have rules without words here.

    >>> pattern({"rule": "R1", "period": 1, "count": 6, "tools": ["Bash"]})
    'Bash: the same call with the same result, 6 times in a row (R1)'
    """
    rule = fields["rule"]
    if rule == _STUCK:
        return f"stuck{stuck_words.because(fields.get('stuck'))} ({rule})"
    tools = _tools(fields["tools"])
    if (words := _RULES.get(rule) or _RULES_THAT_WENT.get(rule)) is None:
        return f"{tools}: a loop by a rule that this version of Eddy does not know ({printable(rule, 20)})"
    since = ""
    if rule == _WAITING and fields.get("phase") != Phase.RECOVERED:
        minutes = max(0, fields.get("last_timestamp", 0) - fields.get("first_timestamp", 0)) // 60_000
        since = f" for {count(minutes, 'minute')}"
    said = words.format(tools=tools, count=fields["count"], period=fields["period"], since=since)
    return f"{said} ({rule})"


def _phase(fields: Fields) -> str:
    match fields["phase"]:
        case Phase.RECOVERED:
            return f"{_ENDS.get(fields['reason'], _ENDED)} after {count(fields['records'], 'record')}: "
        case Phase.STILL_OPEN:
            return "goes on: "
        case Phase.OPENED if fields["level"] != Level.LOOP:
            return "may become a loop again: " if fields.get("reopened") else "may become a loop: "
        case Phase.OPENED if fields.get("reopened"):
            return "again: "
        case _:
            return ""


def _tools(tools: Iterable[str]) -> str:
    """Return the tools in their order, a run of one tool once."""
    names = [printable(tool or "no tool", 40) for tool, _ in groupby(tools)]
    return " → ".join(names)


def _lasting(fields: Fields) -> str:
    """Return how long what repeats has lasted, from a minute on; of waiting the pattern says it."""
    if not has_time(fields["first_timestamp"]):
        return ""
    lasted = fields.get("last_timestamp", 0) - fields["first_timestamp"]
    return duration(lasted) if lasted >= _LONG_MS and fields["rule"] != _WAITING else ""


def _spent(fields: Fields) -> str:
    """Return tokens and cost since the first record of the pattern, as far as they were reported."""
    tokens, cost = fields.get("tokens_since_onset"), fields.get("cost_since_onset")
    parts = [f"{tokens:,.0f} tokens"] if tokens else []
    if cost:
        parts.append(dollars(cost))
    return ", ".join(parts)

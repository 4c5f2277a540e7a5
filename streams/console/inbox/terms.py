"""The words of the filter language, each as a question to one row."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from fnmatch import translate
from operator import eq, ge, gt, le, lt
from typing import Final

import orjson

from streams.console.read_model.attention import SILENT_MS, Attention
from streams.console.read_model.control import CommandState
from streams.console.read_model.points import BUCKET_MS, WINDOW_MS
from streams.core.errors import ConfigurationError


def rate(about: Attention, now: int) -> float:
    """Return tokens per minute of the last five minutes, by Kafka's time.

    The records of a session are read whole from the moment it is watched. What a young episode used before
    that, its events say.
    """
    session = about.case.session
    points = session.points
    spent = points.spent(now)
    if about.episode is not None and about.since > now - WINDOW_MS and about.newest > now - WINDOW_MS:
        spent = max(spent, about.tokens)
    return spent / points.span(now, session.first_ts or 0)


def shown_at(about: Attention, now: int) -> int:
    """Return the moment that a shown rate is of: its newest record, or since then the last whole 20 seconds.

    A rate falls with every second in which nothing comes. Shown so, it would change every row of every page
    all the time.
    """
    return min(now, max(about.newest, now - now % BUCKET_MS))


Term = Callable[[Attention, int], bool]
"""Whether a row is wanted at a moment."""

_WORD: Final = re.compile(r"([a-z_]+):(.*)", re.DOTALL)
_COMPARISON: Final = re.compile(r"([a-z_]+)(>=|<=|>|<|=)(.*)", re.DOTALL)
_NUMBER: Final = re.compile(r"(\d+(?:\.\d+)?)([km]?)")
_DURATION: Final = re.compile(r"(\d+(?:\.\d+)?)([smhd])")
_TIMES: Final = {"": 1, "k": 1_000, "m": 1_000_000}
_UNITS_MS: Final = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_OPERATORS: Final[Mapping[str, Callable[[float, float], bool]]] = {
    ">=": ge,
    "<=": le,
    ">": gt,
    "<": lt,
    "=": eq,
}


def tools(about: Attention) -> list[str]:
    """Return the tools of the episode, none if there is none."""
    found: list[str] = orjson.loads(about.episode.tools) if about.episode else []
    return found


def _rule(about: Attention) -> str | None:
    if about.episode is not None:
        return about.episode.rule
    return about.finding.rule if about.finding is not None else None


_TEXTS: Final[Mapping[str, Callable[[Attention], str | None]]] = {
    "rule": _rule,
    "agent": lambda about: about.case.session.agent_id,
    "session": lambda about: about.session_id,
    "type": lambda about: about.case.session.agent_type,
    "task": lambda about: about.case.session.task_type,
    "cluster": lambda about: about.case.session.cluster_id,
    "trace": lambda about: about.case.session.trace_id,
    "level": lambda about: about.episode.level if about.episode else None,
    "class": lambda about: about.class_,
    "drift": lambda about: about.case.session.drift_level,
    "cause": lambda about: about.episode.cause_key if about.episode else None,
    "assignee": lambda about: about.triage.assignee if about.triage else None,
}

_NUMBERS: Final[Mapping[str, Callable[[Attention, int], float]]] = {
    "tokens": lambda about, _: about.tokens,
    "cost": lambda about, _: about.cost,
    "rate": rate,
    "records": lambda about, _: about.case.session.records,
    "count": lambda about, _: about.episode.occurrences or 0 if about.episode else 0,
}

_STATES: Final[Mapping[str, Term]] = {
    "paused": lambda about, _: about.control.state is CommandState.PAUSED,
    "aborted": lambda about, _: about.control.state is CommandState.ABORTED,
    "asked": lambda about, _: about.control.state in {CommandState.ASKED, CommandState.RECEIVED},
    "disobeying": lambda about, _: about.control.continues,
    "guarded": lambda about, _: about.control.guards > 0,
    "unguarded": lambda about, _: about.control.guards == 0,
    "acknowledged": lambda about, _: about.standing.state == "acknowledged",
    "snoozed": lambda about, _: about.standing.state == "snoozed",
    "wrong": lambda about, _: about.standing.state == "not a loop",
    "returned": lambda about, _: about.standing.returned is not None,
    "assigned": lambda about, _: about.triage is not None and about.triage.assignee is not None,
    "unassigned": lambda about, _: about.triage is None or about.triage.assignee is None,
    "reopened": lambda about, _: about.episode is not None and bool(about.episode.reopened),
    "silent": lambda about, now: now >= about.newest + SILENT_MS,
}


#: Every word of the language, as it begins.
WORDS: Final = (
    *(f"{name}:" for name in _TEXTS),
    "tool:",
    "since:",
    *_NUMBERS,
    *(f"is:{state}" for state in _STATES),
)


def word_term(word: str) -> Term | None:
    """Return the question that a word of the language asks, None if it is text to find.

    Raises:
        ConfigurationError: it looks like a word of the language and is none.
    """
    if word.startswith('"'):
        return None
    if (found := _COMPARISON.fullmatch(word)) is not None:
        return _number_term(word, *found.groups())
    if (found := _WORD.fullmatch(word)) is None:
        return None
    name, value = found[1], found[2].strip('"')
    if name == "since":
        return _since(word, value)
    if name == "is":
        if value not in _STATES:
            raise _unknown(f"is:{value}", word, [f"is:{each}" for each in _STATES])
        return _STATES[value]
    if name not in _TEXTS and name != "tool":
        raise _unknown(name, word, [*_TEXTS, "tool", "since", "is", *(f"{each}>" for each in _NUMBERS)])
    if not value:
        raise ConfigurationError(f'"{word}" says nothing to look for. Write as {name}:something.')
    matches = re.compile(translate(value), re.IGNORECASE).match
    if name == "tool":
        return lambda about, _: any(map(matches, tools(about)))
    return _text_of(_TEXTS[name], matches)


def _text_of(of: Callable[[Attention], str | None], matches: Callable[[str], object]) -> Term:
    def term(about: Attention, now: int) -> bool:  # noqa: ARG001  # a `Term`
        text = of(about)
        return text is not None and matches(text) is not None

    return term


def _unknown(name: str, word: str, known: list[str]) -> ConfigurationError:
    return ConfigurationError(
        f'Unknown filter word "{name}" in "{word}". Known are {", ".join(known)}. '
        "Text with a colon is found in quotation marks."
    )


def _number_term(word: str, name: str, operator: str, value: str) -> Term:
    if name not in _NUMBERS:
        raise _unknown(name, word, [f"{each}{operator}" for each in _NUMBERS])
    found = _NUMBER.fullmatch(value.replace(",", "").replace("_", ""))
    if found is None:
        raise ConfigurationError(f'"{value}" in "{word}" is no number. Write 10000, 10k or 1.5m.')
    of, compare, limit = _NUMBERS[name], _OPERATORS[operator], float(found[1]) * _TIMES[found[2]]
    return lambda about, now: compare(of(about, now), limit)


def duration_of(word: str, value: str) -> float:
    """Return a length of time in ms.

    Raises:
        ConfigurationError: it is none.

    >>> duration_of("since:2h", "2h")
    7200000.0
    """
    found = _DURATION.fullmatch(value)
    if found is None:
        raise ConfigurationError(f'"{value}" in "{word}" is no duration. Write 30s, 15m, 2h or 1d.')
    return float(found[1]) * _UNITS_MS[found[2]]


def _since(word: str, value: str) -> Term:
    length = duration_of(word, value)
    return lambda about, now: about.since >= now - length


def text_term(word: str) -> Term:
    """Return the question whether the ids, names, goal or note of a row hold a text."""
    wanted = word.replace('"', "").casefold()
    return lambda about, _: wanted in _text(about)


def _text(about: Attention) -> str:
    session, triage = about.case.session, about.triage
    parts = (
        about.session_id,
        session.agent_id,
        session.task_type,
        session.goal,
        about.episode and about.episode.tools,
        triage and triage.assignee,
        triage and triage.note,
    )
    return "\n".join(part for part in parts if part).casefold()

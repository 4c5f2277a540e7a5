"""Which brokers answer, and what an operator reads of it: a line when one falls silent, one at its return.

The client library writes a line for each attempt, a hundred a second while a broker is down, and none at all
while one hangs. What `BrokerWatch` finds out is folded into these lines instead.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple

#: A broker is silent after so many looks in a row without an answer: one may be lost to a busy machine.
_LOOKS_IN_VAIN = 2

#: An outage is reported again when it is so old, and from the last one on as often, seconds.
_REMINDERS = (60.0, 300.0, 900.0)

#: The cluster does not list a dead broker, nor one that was removed on purpose: it is forgotten after this.
_FORGOTTEN_AFTER_S = 3_600.0

Line = tuple[int, str]
"""What to log: level and text."""


class BrokerAddress(NamedTuple):
    """Where a broker listens."""

    host: str
    port: int

    def __str__(self) -> str:
        """Return it as settings write it."""
        return f"{self.host}:{self.port}"


class Moment(NamedTuple):
    """A moment on two clocks: a monotonic one for durations, in seconds, and the one that people read."""

    at: float
    time: datetime

    @classmethod
    def of(cls, at: float, seconds_since_1970: float) -> Moment:
        """Return the moment that the two clocks show."""
        return cls(at, datetime.fromtimestamp(seconds_since_1970, UTC))


class BrokerAnswer(NamedTuple):
    """What a broker said: the brokers of its cluster by node id."""

    brokers: Mapping[int, BrokerAddress]


class BrokerRefusal(NamedTuple):
    """Why a broker said nothing, for people."""

    why: str


@dataclass(slots=True)
class _Known:
    address: BrokerAddress
    answered: Moment
    """When it answered last, or was first heard of."""
    in_vain: int = 0
    why: str = ""

    @property
    def silent(self) -> bool:
        return self.in_vain >= _LOOKS_IN_VAIN


@dataclass(slots=True)
class _Reported:
    """An outage in the log: which brokers are silent, since when, and which reminder is next."""

    silent: frozenset[int]
    since: Moment
    reminder: int = 0


class Outage:
    """Folds looks at the brokers into a standing and lines of the log.

    Args:
        servers: Asked until the first answer, which names the brokers of the cluster.
        now: The moment of the start.
        attempts: Returns how many requests and connections of the worker's clients have failed so far.
    """

    def __init__(self, servers: list[BrokerAddress], now: Moment, attempts: Callable[[], int]) -> None:
        self._known: dict[int, _Known] = {
            -number: _Known(address, now) for number, address in enumerate(servers, start=1)
        }
        self._attempts = attempts
        self._attempts_before = 0
        self._reported: _Reported | None = None

    @property
    def addresses(self) -> Mapping[int, BrokerAddress]:
        """Whom to ask, by node id; negative ones are the bootstrap servers of a start."""
        return {node: known.address for node, known in self._known.items()}

    @property
    def known(self) -> int:
        """How many brokers there are."""
        return len(self._known)

    @property
    def answering(self) -> int:
        """How many of them answer."""
        return sum(not known.silent for known in self._known.values())

    @property
    def answered(self) -> Moment:
        """When any broker answered last."""
        return max(known.answered for known in self._known.values())

    def sentence(self, now: float) -> str | None:
        """Return that no broker answers and since when; None as long as one does."""
        return None if self.answering else f"{self._since(self.answered)} ({_span(now - self.answered.at)})"

    def note(self, found: Mapping[int, BrokerAnswer | BrokerRefusal], now: Moment) -> Iterator[Line]:
        """Take note of what a look found, by node id; yield what there is to log."""
        listed: dict[int, BrokerAddress] = {}
        for node, said in found.items():
            known = self._known[node]
            match said:
                case BrokerAnswer(brokers):
                    listed |= brokers
                    known.answered, known.in_vain = now, 0
                case BrokerRefusal(why):
                    known.in_vain, known.why = known.in_vain + 1, why
        if listed:
            self._update(listed, now)
        yield from self._lines(now)
        if self.answering == self.known:
            self._attempts_before = self._attempts()

    def _update(self, listed: Mapping[int, BrokerAddress], now: Moment) -> None:
        kept = {
            node: known
            for node, known in self._known.items()
            if node in listed or (node > 0 and now.at - known.answered.at < _FORGOTTEN_AFTER_S)
        }
        for node, address in listed.items():
            if node not in kept or kept[node].address != address:
                kept[node] = _Known(address, now)
        self._known = kept

    def _lines(self, now: Moment) -> Iterator[Line]:
        silent = frozenset(node for node, known in self._known.items() if known.silent)
        before = self._reported
        if before is None and not silent:
            return
        if before is not None and before.silent == silent:
            lasted = now.at - before.since.at
            if lasted >= _reminder(before.reminder):
                before.reminder += 1
                yield self._level(), f"{self._since(before.since)} ({_span(lasted)}){self._failed()}."
            return
        if not silent:
            assert before is not None
            who = "The broker answers" if self.known == 1 else f"All {self.known} brokers answer"
            yield logging.WARNING, f"{who} again after {_span(now.at - before.since.at)}{self._failed()}."
            self._reported = None
            return
        first = min((self._known[node].answered for node in silent), key=lambda moment: moment.at)
        since = first if self.answering else self.answered
        self._reported = _Reported(silent, since)
        why = "; ".join(f"{self._known[node].address} ({self._known[node].why})" for node in sorted(silent))
        yield self._level(), f"{self._since(since)}: {why}. {self._advice()}"

    def _level(self) -> int:
        return logging.WARNING if self.answering else logging.ERROR

    def _since(self, since: Moment) -> str:
        if self.answering:
            who = f"Not every broker answers ({self.answering} of {self.known})"
        else:
            who = "No broker answers" if self.known == 1 else f"No broker of {self.known} answers"
        return f"{who} since {since.time:%Y-%m-%dT%H:%M:%SZ}"

    def _advice(self) -> str:
        if self.answering:
            return "Partitions whose leader is there stand still until they have another. Check the brokers."
        return (
            "Nothing is acknowledged meanwhile, and the worker continues by itself once one answers. Check "
            "the brokers and the network; `eddy doctor` says more."
        )

    def _failed(self) -> str:
        attempts = self._attempts() - self._attempts_before
        return f", {attempts:,} failed attempts" if attempts else ""


def _reminder(number: int) -> float:
    """Return how old an outage is when it is reported for the time after ``number`` times."""
    if number < len(_REMINDERS):
        return _REMINDERS[number]
    return _REMINDERS[-1] * (number - len(_REMINDERS) + 2)


def _span(seconds: float) -> str:
    """Return a duration for people.

    >>> _span(7.6), _span(312), _span(7260)
    ('8 s', '5 min 12 s', '2 h 1 min')
    """
    whole = math.floor(seconds + 0.5)
    if whole < 60:
        return f"{whole} s"
    if whole < 3_600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3_600} h {whole % 3_600 // 60} min"

"""One attack: what is done with the bytes an attacker chose, and with what to begin."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple


def no_functions() -> Iterable[Callable[..., object]]:
    return ()


class Target(NamedTuple):
    """A target of the fuzzer.

    Attributes:
        name: of the command line.
        attack: gets any bytes; raises when something holds that must not.
        seeds: what a run begins with; made when asked for.
        words: what is worth putting into the bytes: a fuzzer finds no keyword of many letters by chance.
        made: functions that were made at run time, whose coverage counts too.
    """

    name: str
    attack: Callable[[bytes], None]
    seeds: Callable[[], Iterable[bytes]]
    words: Iterable[str] = ()
    made: Callable[[], Iterable[Callable[..., object]]] = no_functions

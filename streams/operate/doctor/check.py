"""What one check found."""

from __future__ import annotations

from enum import StrEnum, unique
from typing import NamedTuple


@unique
class CheckStatus(StrEnum):
    """How bad it is."""

    OK = "ok"
    WARN = "warn"
    """It works, and an operator should know."""
    FAIL = "fail"
    """A worker would not start, or would not do what it is for."""


class Check(NamedTuple):
    """One finding: what was checked, how it is, and what to do about it."""

    name: str
    status: CheckStatus
    said: str
    advice: str = ""


def ok(name: str, said: str) -> Check:
    """Return that all is well.

    >>> ok("broker", "answers")
    Check(name='broker', status=<CheckStatus.OK: 'ok'>, said='answers', advice='')
    """
    return Check(name, CheckStatus.OK, said)


def warn(name: str, said: str, advice: str) -> Check:
    """Return something that an operator should know."""
    return Check(name, CheckStatus.WARN, said, advice)


def fail(name: str, said: str, advice: str) -> Check:
    """Return something that has to be put right."""
    return Check(name, CheckStatus.FAIL, said, advice)

"""Whether what is installed is what this version of Eddy was made for, by the package's own requirements."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import PackageNotFoundError, requires, version
from typing import Final

from streams.core.native import NATIVE, NativeChoice
from streams.operate.doctor.check import Check, fail, ok

_PACKAGE: Final = "eddy-streams"
_PYTHON: Final = (3, 11)
_REQUIREMENT = re.compile(r"^([A-Za-z0-9._-]+)(?:\[[^\]]*\])?([^;]*)$")
_BOUND = re.compile(r"(==|>=|<=|<|>|!=)\s*([0-9][0-9A-Za-z.]*)")

_HOLDS: Final[dict[str, Callable[[tuple[int, ...], tuple[int, ...]], bool]]] = {
    "==": lambda found, named: found == named,
    "!=": lambda found, named: found != named,
    ">=": lambda found, named: found >= named,
    "<=": lambda found, named: found <= named,
    ">": lambda found, named: found > named,
    "<": lambda found, named: found < named,
}


def version_checks(
    requirements: Sequence[str] | None = None,
    installed: Callable[[str], str] = version,
    python: tuple[int, ...] = sys.version_info[:3],
    native: NativeChoice = NATIVE,
) -> Iterator[Check]:
    """Yield whether Python is new enough, each library that is needed fits, and the native core is in use."""
    shown = ".".join(map(str, python))
    if python[:2] < _PYTHON:
        yield fail("python", f"Python {shown}", "Eddy needs Python 3.11 or newer.")
    else:
        yield ok("python", f"Python {shown}, Eddy {installed(_PACKAGE)}")
    misfits, fitting = [], []
    for requirement in requires(_PACKAGE) or () if requirements is None else requirements:
        found = _REQUIREMENT.match(requirement)
        if found is None:
            continue  # one of an extra
        name, bounds = found[1], found[2].strip()
        try:
            there = installed(name)
        except PackageNotFoundError:
            misfits.append(f"{name} is not installed ({bounds} is needed)")
            continue
        if fits(there, bounds):
            fitting.append(f"{name} {there}")
        else:
            misfits.append(f"{name} {there} is installed, {bounds} is needed")
    if misfits:
        advice = "Install Eddy again from its source, into an environment of its own: `make setup`."
        yield fail("libraries", "; ".join(misfits), advice)
    else:
        yield ok("libraries", ", ".join(fitting))
    yield ok("native core", str(native))


def fits(there: str, bounds: str) -> bool:
    """Tell whether a version is within bounds as a requirement names them.

    >>> fits("0.14.2", ">=0.14,<0.15"), fits("0.15.0", ">=0.14,<0.15"), fits("1.2", "==1.2.0"), fits("3", "")
    (True, False, True, True)
    """
    return all(_HOLDS[sign](_numbers(there), _numbers(named)) for sign, named in _BOUND.findall(bounds))


def _numbers(text: str) -> tuple[int, ...]:
    """Return the leading numbers of a version, without zeros at the end."""
    numbers = []
    for part in text.split("."):
        digits = re.match(r"\d+", part)
        if digits is None:
            break
        numbers.append(int(digits[0]))
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)

"""What is installed and which schemas come with it, against what this version of Eddy was made for."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, requires, version
from typing import Final

from schemas.bundled import JOB_SUBJECTS, latest, versions
from schemas.codec import Codec
from schemas.numbers import CONTROL_SUBJECTS, SUBJECT_NUMBERS
from schemas.registry import Registry
from streams.core.domain.topic import AGGREGATES, OUTPUTS
from streams.core.errors import ConfigurationError, InfrastructureError
from streams.core.native import NATIVE, NativeChoice
from streams.observe.settings import RegistrySettings
from streams.operate.doctor.check import Check, fail, ok, warn
from streams.worker.endpoints import registry_address

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


def bundled_check() -> Check:
    """Return whether every bundled schema can be read, and every output written."""
    try:
        found = [schema for subject in SUBJECT_NUMBERS for schema in versions(subject)]
        codec = Codec.bundled()
        for topic in (*OUTPUTS, *AGGREGATES):
            codec.encoder(f"{topic}-value")
        for subject in CONTROL_SUBJECTS:
            codec.encoder(subject)
    except (OSError, ValueError, LookupError, TypeError) as error:
        advice = "Files of the package are missing or damaged: install Eddy again."
        return fail("schemas", f"a bundled schema cannot be used ({error!r})", advice)
    return ok("schemas", f"{len(found)} versions of {len(SUBJECT_NUMBERS)} subjects are bundled")


async def registry_check(settings: RegistrySettings, within: float) -> list[Check]:
    """Return whether the registry answers and holds the schemas; it is asked, nothing is registered."""
    return [await _registry_check(settings, within)]


async def _registry_check(settings: RegistrySettings, within: float) -> Check:
    if settings.schema_registry_url is None:
        return ok("registry", "none is set: the bundled schemas are used")
    address = replace(
        registry_address(settings, settings.schema_registry_url),
        timeout_s=within,
        attempts=1,
        give_up_after_s=within,
    )
    try:
        async with Registry(address) as registry:
            newest = [latest(subject) for subject in JOB_SUBJECTS]
            missing = [
                schema.name
                for schema in newest
                if await registry.id_of(schema.subject, schema.definition) is None
            ]
    except ConfigurationError as error:
        return fail("registry", str(error), "Correct EDDY_SCHEMA_REGISTRY_URL or the login.")
    except InfrastructureError as error:
        said = f"{address.shown()} cannot be asked within {within:g} s ({error.__cause__})"
        advice = (
            "Check EDDY_SCHEMA_REGISTRY_URL, where its token comes from, the network and the registry's logs."
        )
        return fail("registry", said, advice)
    if not missing:
        return ok("registry", f"{address.shown()} holds the schemas of this version")
    said = f"{address.shown()} does not hold {', '.join(missing)}"
    if settings.schema_registry_register:
        return warn("registry", said, "A worker registers them when it starts; it needs the right to.")
    return fail("registry", said, "Register the files of schemas/, or set EDDY_SCHEMA_REGISTRY_REGISTER.")

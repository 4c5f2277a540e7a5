"""What is said of vulnerabilities, and the licences of what users install."""

import re
from importlib.metadata import metadata
from typing import Any

import pytest

from tests.audit import PURPOSES, verdict
from tests.pins import pins

FLAW = {"id": "PYSEC-1", "fix_versions": ["2.1"]}
SAFE: dict[str, Any] = {"name": "safe", "version": "1.0", "vulns": []}
FLAWED: dict[str, Any] = {"name": "flawed", "version": "2.0", "vulns": [FLAW]}
UNKNOWN: dict[str, Any] = {"name": "unknown", "skip_reason": "not found"}

#: Licences that ask for no more than notice, and for the source of changes to themselves (MPL).
FREE = re.compile(r"\b(MIT|BSD|Apache|PSF|Python Software Foundation|ISC|MPL|Repoze)", re.IGNORECASE)


@pytest.mark.parametrize(
    ("packages", "status", "said"),
    [
        ([SAFE, SAFE], 0, "No vulnerability of 2 packages is known."),
        ([SAFE, FLAWED, UNKNOWN], 1, "flawed 2.0: PYSEC-1, mended in 2.1"),
        ([SAFE, UNKNOWN], 75, "The index gives no reports on 1 of 2 packages."),
        ([], 75, "The index gives no reports on 0 of 0 packages."),
    ],
)
def test_what_nobody_knows_does_not_count_as_safe(
    packages: list[dict[str, Any]], status: int, said: str
) -> None:
    assert verdict(packages) == (status, [said])


@pytest.mark.parametrize("name", [name for purpose in PURPOSES for name in pins(purpose)])
def test_a_package_that_users_get_has_a_licence_that_they_may_have(name: str) -> None:
    described = metadata(name)
    classified = [line for line in described.get_all("Classifier", []) if line.startswith("License")]
    named = described.get("License-Expression") or described.get("License") or ""
    said = " ".join([*named.splitlines()[:1], *classified])  # some put the whole text there
    assert FREE.search(said), said
    assert not re.search(r"\b[AL]?GPL", said), said

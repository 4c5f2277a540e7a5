"""Whether what is installed fits, by the package's own requirements."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError

import pytest

from streams.operate.doctor.check import CheckStatus
from streams.operate.doctor.installation import fits, version_checks

INSTALLED = {"eddy-streams": "0.1.0", "aiokafka": "0.14.0", "faust-streaming": "0.15.3"}


def installed(name: str) -> str:
    if name not in INSTALLED:
        raise PackageNotFoundError(name)
    return INSTALLED[name]


def checked(*requirements, python=(3, 11, 7)):
    return {check.name: check for check in version_checks(requirements, installed, python)}


def test_what_is_installed_here_fits():
    assert {check.status for check in version_checks()} == {CheckStatus.OK}


def test_each_library_that_does_not_fit_is_named_with_what_is_needed():
    found = checked("aiokafka<0.14,>=0.13", "faust-streaming==0.15.3", "rocksdict>=0.3.29")["libraries"]
    assert found.status is CheckStatus.FAIL
    assert found.said == (
        "aiokafka 0.14.0 is installed, <0.14,>=0.13 is needed; "
        "rocksdict is not installed (>=0.3.29 is needed)"
    )
    assert "make setup" in found.advice


def test_what_only_an_extra_needs_is_not_missed():
    assert (
        checked('quixstreams>=3.28; extra == "bench"', "aiokafka[all]>=0.14")["libraries"].status
        is CheckStatus.OK
    )


def test_an_old_python_is_not_enough():
    assert checked(python=(3, 10, 9))["python"].status is CheckStatus.FAIL
    assert checked(python=(3, 12, 0))["python"].status is CheckStatus.OK


@pytest.mark.parametrize(
    ("there", "bounds", "held"),
    [
        ("0.15.3", "==0.15.3", True),
        ("0.15.3.post1", "==0.15.3", True),
        ("0.15.10", ">=0.15.9", True),
        ("2", "!=2.0", False),
        ("2.1", "<=2.1", True),
        ("2.1", ">2.1", False),
        ("1.13rc1", ">=1.13,<2", True),
    ],
)
def test_versions_are_compared_by_their_numbers(there, bounds, held):
    assert fits(there, bounds) is held

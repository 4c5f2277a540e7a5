"""Every example in the docstrings of the core runs as it is written."""

import doctest
import importlib
import pkgutil
from importlib.util import find_spec
from types import ModuleType

import pytest

import streams.core.detectors
import streams.core.domain
import streams.core.policy

PACKAGES = (streams.core.domain, streams.core.detectors, streams.core.policy)
#: Can only be imported where the native core is installed.
NATIVE = "streams.core.domain.native_decision"


def module_names(package: ModuleType) -> list[str]:
    found = [module.name for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")]
    return [name for name in found if name != NATIVE or find_spec("eddy_native") is not None]


@pytest.mark.parametrize(
    "name", [name for package in PACKAGES for name in module_names(package)] + ["streams.core.pipeline"]
)
def test_the_examples_of_a_module_are_true(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_there_are_examples() -> None:
    finder = doctest.DocTestFinder(exclude_empty=True)
    for package in PACKAGES:
        modules = [importlib.import_module(name) for name in module_names(package)]
        assert any(example for module in modules for test in finder.find(module) for example in test.examples)

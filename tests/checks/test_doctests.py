"""Every example in a docstring of what is installed runs as it is written."""

import doctest
import importlib
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = (ROOT / "streams", ROOT / "schemas", ROOT / "topics", ROOT / "client" / "eddy_client")
#: Can only be imported where the native core is installed.
NATIVE = "streams.core.domain.native_decision"


def module_names() -> list[str]:
    """Return the modules whose docstrings have examples."""
    found = []
    for package in PACKAGES:
        for path in sorted(package.rglob("*.py")):
            if ">>> " in path.read_text():
                words = path.relative_to(package.parent).with_suffix("").parts
                found.append(".".join(words[:-1] if words[-1] == "__init__" else words))
    return [name for name in found if name != NATIVE or find_spec("eddy_native") is not None]


@pytest.mark.parametrize("name", module_names())
def test_the_examples_of_a_module_are_true(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_there_are_examples_in_every_package() -> None:
    assert {name.partition(".")[0] for name in module_names()} == {package.name for package in PACKAGES}

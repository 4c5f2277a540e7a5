"""The patches of docs/upstream.md fit the installed libraries, and the code that they name exists."""

import inspect
import re
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "docs" / "upstream.md").read_text()
PATCHES = re.findall(r"```diff\n(.*?)```", TEXT, re.DOTALL)
FIXES = ROOT / "streams" / "kafka" / "patches"


def patched(patch: str) -> tuple[str, str]:
    """Return the file of the library that a patch is for, and the lines that it expects there."""
    [name] = re.findall(r"^--- a/(\S+)$", patch, re.MULTILINE)
    body = patch.split("@@\n", 1)[1].splitlines()
    return name, "\n".join(line[1:] for line in body if not line.startswith("+"))


def source(name: str) -> str:
    """Return the text of a module, by its path as a patch names it."""
    module = import_module(name.removesuffix(".py").replace("/", "."))
    return inspect.getsource(module)


@pytest.mark.parametrize("patch", PATCHES, ids=[patched(patch)[0] for patch in PATCHES])
def test_a_patch_fits_the_installed_library(patch: str) -> None:
    name, expected = patched(patch)
    assert source(name).count(expected) == 1
    assert re.search(r"^\+[^+]", patch, re.MULTILINE), "it adds nothing"


def test_each_module_that_is_named_exists() -> None:
    assert len(PATCHES) == 4
    table = TEXT.split("## Without a patch yet")[1]
    modules = re.findall(r"`(\w+\.py)`", table)
    assert modules
    assert [module for module in modules if not (FIXES / module).is_file()] == []

"""Each private name of aiokafka that Eddy uses stands in one package, and exists in the installed version.

What the functions behind these names do is pinned by fingerprint in `test_faust_contract.py`.
"""

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path

import aiokafka
import pytest

ROOT = Path(__file__).parents[4]
FIXES = ROOT / "streams" / "kafka" / "patches"
OUR_OWN = {"self", "cls", "other"}
THEIRS = "\n".join(path.read_text() for path in Path(inspect.getfile(aiokafka)).parent.rglob("*.py"))


def private(path: Path) -> Iterator[str]:
    """Yield the private attributes that a module takes from objects other than its own."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.startswith("__"):
            of = node.value
            if isinstance(of, ast.Name) and of.id in OUR_OWN:
                continue
            if isinstance(of, ast.Call) and isinstance(of.func, ast.Name) and of.func.id == "super":
                continue
            yield node.attr


def own(path: Path) -> set[str]:
    """Return the private names that a module defines itself, in a class or on ``self``."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                names.add(name)
            case ast.Attribute(value=ast.Name(id="self"), attr=name, ctx=ast.Store()):
                names.add(name)
    return names


USED = sorted({name for path in FIXES.glob("*.py") for name in set(private(path)) - own(path)})


@pytest.mark.parametrize("name", USED)
def test_aiokafka_has_the_private_name(name: str) -> None:
    assert name in THEIRS


def test_the_package_uses_private_names_at_all() -> None:
    assert {"_proc_fetch_request", "_message_accumulator", "_coordinator"} <= set(USED)


def test_no_other_package_silences_the_rule_about_private_names() -> None:
    silenced = [
        str(path.relative_to(ROOT))
        for package in ("streams", "schemas", "topics")
        for path in (ROOT / package).rglob("*.py")
        if "SLF001" in path.read_text()
    ]
    assert silenced == []

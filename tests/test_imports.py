"""Who may import whom: the contracts of pyproject.toml hold, cover every module, and can be broken."""

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import grimp
import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("streams", "schemas", "topics")
CONFIGURATION = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]


def lint(directory: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache"],
        cwd=directory,
        env={**os.environ, "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_contracts_hold() -> None:
    result = lint(ROOT)
    assert result.returncode == 0, result.stdout + result.stderr


def test_every_module_of_streams_has_its_layer() -> None:
    contract = next(each for each in CONFIGURATION["contracts"] if each["name"].startswith("The shell knows"))
    placed = {name.strip(" ()") for layer in contract["layers"] for name in layer.split("|")}
    graph = grimp.build_graph(*PACKAGES)
    assert graph.find_children("streams") | {"schemas", "topics"} <= placed


def test_values_need_the_standard_library_only_and_use_the_native_core_if_it_is_there() -> None:
    graph = grimp.build_graph(*PACKAGES, include_external_packages=True)
    values = graph.find_descendants("streams.core.domain")
    imported = {name for value in values for name in graph.find_modules_directly_imported_by(value)}
    assert len(values) > 10
    others = {name for name in imported if not name.startswith("streams.core.domain")}
    assert others - sys.stdlib_module_names == {"streams.core.native", "eddy_native"}


@pytest.mark.parametrize(
    ("contract", "module", "line"),
    [
        ("The shell knows the core", "streams/kafka/client.py", "import streams.worker.batch"),
        ("Values know nobody", "streams/core/domain/run.py", "import streams.core.policy"),
        ("The core touches no clock", "streams/core/pipeline.py", "import time"),
        ("Faust stays", "streams/kafka/client.py", "import faust"),
        ("What the worker judges", "streams/worker/batch.py", "import faust"),
        ("The Kafka client stays", "streams/alerts/notifier.py", "import aiokafka"),
        ("RocksDB stays behind", "streams/worker/state/table.py", "import rocksdict"),
        ("The native core stays behind", "streams/core/pipeline.py", "import eddy_native"),
        ("Only commands know", "streams/operate/redrive/letter.py", "import streams.cli.text.line"),
        ("Explanations know no terminal", "streams/operate/explain/verdict.py", "import rich"),
        (
            "Detectors do not know one another",
            "streams/core/detectors/intruder.py",
            "import streams.core.detectors.uniqueness",
        ),
    ],
)
def test_each_contract_can_be_broken(tmp_path: Path, contract: str, module: str, line: str) -> None:
    for package in PACKAGES:
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    with (tmp_path / module).open("a") as source:
        source.write(f"\n{line}\n")
    result = lint(tmp_path)
    assert result.returncode == 1
    verdict = next(text for text in result.stdout.splitlines() if text.startswith(contract))
    assert "BROKEN" in verdict, result.stdout

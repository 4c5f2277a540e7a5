"""What docs/upstream has is for `git am`: the test in each patch fails without it, and passes with it."""

import os
import re
import shutil
import subprocess
import sys
from importlib.machinery import PathFinder
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "upstream"
TEXT = (ROOT / "docs" / "upstream.md").read_text()
PATCHES = sorted(FOLDER.glob("*.patch"))
FIXES = ROOT / "streams" / "kafka" / "patches"

ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "GIT_CONFIG_GLOBAL": "/dev/null",
    **{f"GIT_{who}_{what}": "a@b" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
}


def run(folder: Path, *words: str | Path) -> subprocess.CompletedProcess[str]:
    environment = {**ENVIRONMENT, "PYTHONPATH": str(folder)}
    return subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture
def library(tmp_path: Path, patch: Path) -> Path:
    """Return a repository with the installed library that a patch is for."""
    name = patch.name.partition("-")[0]
    found = PathFinder.find_spec(name)  # Faust puts a module without a spec in its own place
    assert found is not None
    assert found.origin is not None
    shutil.copytree(Path(found.origin).parent, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    for words in (("init", "--quiet"), ("add", "."), ("commit", "--quiet", "--message", "installed")):
        assert run(tmp_path, "git", *words).returncode == 0
    return tmp_path


@pytest.mark.parametrize("patch", PATCHES, ids=[patch.stem for patch in PATCHES])
def test_a_patch_mends_the_installed_library(patch: Path, library: Path) -> None:
    (name,) = re.findall(r"^\+\+\+ b/(tests/\S+)$", patch.read_text(), re.MULTILINE)
    test = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", name)
    assert run(library, "git", "apply", "--include=tests/*", patch).returncode == 0
    without = run(library, *test)
    assert without.returncode == 1, without.stdout
    (library / name).unlink()
    taken = run(library, "git", "am", patch)
    assert taken.returncode == 0, taken.stderr
    mended = run(library, *test)
    assert mended.returncode == 0, mended.stdout


def test_the_page_names_each_patch_and_each_module_that_is_there() -> None:
    assert re.findall(r"\]\(upstream/(\S+\.patch)\)", TEXT) == [patch.name for patch in PATCHES]
    modules = re.findall(r"`(\w+\.py)`", TEXT.split("## Without a patch yet")[1])
    assert modules
    assert [module for module in modules if not (FIXES / module).is_file()] == []
    named = re.findall(r"`((?:streams|tests)/\S+\.py)`", TEXT)
    assert named
    assert [path for path in named if not (ROOT / path).is_file()] == []

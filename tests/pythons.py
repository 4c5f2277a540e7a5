"""`make test-pythons`: the tests that need no broker, on every Python that the project's classifiers name.

python -m tests.pythons [VERSION ...]

Each version gets an environment of its own under `.cache`, with the same packages as `.venv`. The exit status
is 0 if every version that was found passed. The last lines name a version without an interpreter; that is no
failure, but to find none is one.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from tests.pins import FOLDER, PROJECT, ROOT, file_of

SUITES = ("tests/unit", "tests/property", "tests/conformance", "tests/checks")
_CLASSIFIER = "Programming Language :: Python :: 3."
_INSTALLED_FROM = "installed-from"


def named_versions() -> list[str]:
    """Return the versions that the classifiers name, as "3.11"."""
    return [
        f"3.{line.removeprefix(_CLASSIFIER)}"
        for line in PROJECT["classifiers"]
        if line.startswith(_CLASSIFIER)
    ]


def candidates(version: str, environment: Mapping[str, str] = os.environ) -> Iterator[Path]:
    """Yield where an interpreter of a version may be: on the PATH, where pyenv and uv keep theirs, by uv."""
    if on_path := shutil.which(f"python{version}", path=environment.get("PATH", "")):
        yield Path(on_path)
    home = Path(environment.get("HOME", "/"))
    pyenv = Path(environment.get("PYENV_ROOT", home / ".pyenv"))
    yield from sorted(pyenv.glob(f"versions/{version}.*/bin/python{version}"), reverse=True)
    uv = Path(environment.get("UV_PYTHON_INSTALL_DIR", home / ".local" / "share" / "uv" / "python"))
    yield from sorted(uv.glob(f"cpython-{version}*/bin/python{version}"), reverse=True)
    if program := shutil.which("uv", path=environment.get("PATH", "")):
        question = [program, "python", "find", "--no-project", version]
        found = subprocess.run(question, env=environment, capture_output=True, text=True, check=False)
        if found.returncode == 0:
            yield Path(found.stdout.strip())


def interpreter(version: str, places: Iterable[Path]) -> Path | None:
    """Return the first candidate that runs and has the version: what a version switcher leaves may not."""
    question = f"import sys; sys.exit('%d.%d' % sys.version_info[:2] != '{version}')"
    for place in places:
        if subprocess.run([place, "-c", question], capture_output=True, check=False).returncode == 0:
            return place
    return None


def environment_of(name: str, python: Path) -> Path:
    """Return the interpreter of an environment below `.cache`, which is made if it is missing or old.

    Raises:
        CalledProcessError: The environment cannot be made, or a package cannot be installed.
    """
    folder = ROOT / ".cache" / name
    inside, stamp = folder / "bin" / "python", folder / _INSTALLED_FROM
    sources = [ROOT / "pyproject.toml", ROOT / "client" / "pyproject.toml", *sorted(FOLDER.glob("*.txt"))]
    wanted = hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()
    if not stamp.exists() or stamp.read_text() != wanted:
        subprocess.run([python, "-m", "venv", "--clear", folder], check=True)
        install = ["-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
        projects = ["-e", f"{ROOT}[dev]", "-e", ROOT / "client"]
        subprocess.run([inside, *install, "-c", file_of("dev"), *projects], check=True)
        stamp.write_text(wanted)
    return inside


def passes(version: str, python: Path) -> bool:
    """Run the suites on a version and return whether they passed."""
    inside = environment_of(f"python{version}", python)
    # The list of failures that `make test` keeps stays as it is.
    options = ["-q", "-n", "auto", "-o", f"cache_dir={inside.parents[1] / 'pytest'}"]
    return subprocess.run([inside, "-m", "pytest", *options, *SUITES], cwd=ROOT, check=False).returncode == 0


def verdicts(
    versions: Sequence[str], find: Callable[[str], Path | None], test: Callable[[str, Path], bool]
) -> dict[str, str]:
    """Return what came of each version: passed, failed or not found."""
    said = {}
    for version in versions:
        python = find(version)
        if python is None:
            said[version] = "not found"
            continue
        sys.stdout.write(f"Python {version}: {python}\n")
        sys.stdout.flush()
        said[version] = "passed" if test(version, python) else "failed"
    return said


def main() -> None:
    """Test, print one line for each version, and end with 1 if one failed or none was found."""
    known = named_versions()
    parser = argparse.ArgumentParser(prog="make test-pythons", description=__doc__.splitlines()[0])
    parser.add_argument(
        "versions", nargs="*", metavar="VERSION", help=f"any of {', '.join(known)}; all of them"
    )
    asked = parser.parse_args().versions
    if unknown := [version for version in asked if version not in known]:
        parser.error(f"no version {', '.join(unknown)} among the classifiers; there are {', '.join(known)}")
    said = verdicts(asked or known, lambda version: interpreter(version, candidates(version)), passes)
    for version, verdict in said.items():
        sys.stdout.write(f"Python {version}: {verdict}\n")
    sys.exit("failed" in said.values() or "passed" not in said.values())


if __name__ == "__main__":
    main()

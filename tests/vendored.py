"""Scripts and styles of others, kept as they were published: `vendor.lock` names them.

`make vendor` packs each package with npm again and writes its files. `make vendor ARGS="uplot@1.6.33"` takes
another version. A test compares the files with the lock; it needs no network.
"""

from __future__ import annotations

import base64
import hashlib
import json
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import TypedDict

ROOT = Path(__file__).parents[1]
#: What browsers load, and what tests load into a browser.
FOLDERS = (ROOT / "streams" / "console" / "static" / "vendor", ROOT / "tests" / "browser" / "vendor")
LOCK = "vendor.lock"


class Kept(TypedDict):
    """A file: where it is in the package, and its digest."""

    path: str
    sha256: str


class Package(TypedDict):
    """A package as the lock describes it."""

    version: str
    integrity: str
    licence: str
    files: dict[str, Kept]


def packages(folder: Path) -> dict[str, Package]:
    """Return what the lock of a folder names."""
    return json.loads((folder / LOCK).read_text())


def differences(folder: Path) -> list[str]:
    """Return in what the files of a folder differ from its lock."""
    named = {name: kept for package in packages(folder).values() for name, kept in package["files"].items()}
    there = {path.name for path in folder.iterdir()} - {LOCK}
    changed = [
        name
        for name in sorted(there & set(named))
        if hashlib.sha256((folder / name).read_bytes()).hexdigest() != named[name]["sha256"]
    ]
    return [
        *(f"{name} is not there" for name in sorted(set(named) - there)),
        *(f"{name} is in no package of the lock" for name in sorted(there - set(named))),
        *(f"{name} has another content" for name in changed),
    ]


def integrity(packed: bytes) -> str:
    """Return the digest of a package as npm writes it."""
    return "sha512-" + base64.b64encode(hashlib.sha512(packed).digest()).decode()


def packed(package: str, directory: Path) -> bytes:
    """Return a package of the registry, such as `uplot@1.6.32`."""
    command = ["npm", "pack", "--silent", "--pack-destination", str(directory), package]
    name = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()[-1]
    return (directory / name).read_bytes()


def refresh(folder: Path, wanted: dict[str, str]) -> None:
    """Fetch each package of a folder and write its files and the lock."""
    lock = packages(folder)
    for name, package in lock.items():
        version = wanted.get(name, package["version"])
        with tempfile.TemporaryDirectory() as directory:
            content = packed(f"{name}@{version}", Path(directory))
            found = integrity(content)
            if version == package["version"] and found != package["integrity"]:
                raise SystemExit(
                    f"{name}@{version}: the registry has {found}, the lock {package['integrity']}"
                )
            archive = Path(directory) / "package.tgz"
            archive.write_bytes(content)
            with tarfile.open(archive) as files:
                for to, kept in package["files"].items():
                    member = files.extractfile(f"package/{kept['path']}")
                    if member is None:
                        raise SystemExit(f"{name}@{version} has no file {kept['path']}")
                    text = member.read()
                    (folder / to).write_bytes(text)
                    kept["sha256"] = hashlib.sha256(text).hexdigest()
        package["version"], package["integrity"] = version, found
        sys.stdout.write(f"{name} {version}: {', '.join(package['files'])}\n")
    (folder / LOCK).write_text(json.dumps(lock, indent=2) + "\n")


def main() -> None:
    """Refresh every folder."""
    wanted = dict(one.rsplit("@", 1) for one in sys.argv[1:])
    for folder in FOLDERS:
        refresh(folder, wanted)


if __name__ == "__main__":
    main()

"""Checks the console's own scripts with TypeScript: their types are in comments, and nothing is built.

npm fetches the compiler once, at the version and with the digest below.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

from tests.archives import unpack
from tests.vendored import ROOT, integrity, packed

VERSION = "5.9.3"
INTEGRITY = "sha512-jl1vZzPDinLr9eUt3J/t7V6FgNEw9QjvBPdysz9KfQDD41fQrC2Y4vKQdiaUpFT4bXlb1RHhLpp8wtm6M5TgSw=="
PROJECT = ROOT / "tests" / "browser" / "tsconfig.json"


def compiler() -> Path:
    """Return the compiler, fetched if it is not there yet."""
    folder = ROOT / ".cache" / f"typescript-{VERSION}"
    found = folder / "package" / "lib" / "tsc.js"
    if not found.exists():
        folder.mkdir(parents=True, exist_ok=True)
        content = packed(f"typescript@{VERSION}", folder)
        if (has := integrity(content)) != INTEGRITY:
            raise SystemExit(f"typescript@{VERSION}: the registry has {has}")
        with tarfile.open(next(folder.glob("*.tgz"))) as files:
            unpack(files, folder)
    return found


def main() -> int:
    """Run it; return 75 (try later) if it cannot be fetched or run here."""
    if not (shutil.which("node") and shutil.which("npm")):
        sys.stderr.write(
            "The scripts were not checked: node and npm are missing. As root: apt-get install npm\n"
        )
        return os.EX_TEMPFAIL
    try:
        tsc = compiler()
    except subprocess.CalledProcessError as error:
        sys.stderr.write(f"The scripts were not checked: npm cannot fetch TypeScript. {error.stderr}\n")
        return os.EX_TEMPFAIL
    return subprocess.run(["node", str(tsc), "--project", str(PROJECT)], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())

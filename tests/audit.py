"""Known vulnerabilities of the pinned packages that a worker, `eddy demo` and a notifier run on.

`python -m tests.audit` asks the package index by pip-audit. Exit codes: 0 none is known, 1 one is, or nothing
could be asked, 75 (EX_TEMPFAIL) the index says nothing about some of them: nobody knows, then.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any

from tests.pins import pins

PURPOSES = ("run", "demo", "apprise", "openid")


def verdict(packages: Sequence[Mapping[str, Any]]) -> tuple[int, list[str]]:
    """Return the exit code, and what to print, of what pip-audit says of each package."""
    unknown = [package["name"] for package in packages if "skip_reason" in package]
    found = [
        f"{package['name']} {package['version']}: {flaw['id']}, "
        f"mended in {', '.join(flaw['fix_versions']) or 'no version yet'}"
        for package in packages
        for flaw in package.get("vulns", ())
    ]
    if found:
        return 1, found
    if unknown or not packages:
        return os.EX_TEMPFAIL, [f"The index gives no reports on {len(unknown)} of {len(packages)} packages."]
    return 0, [f"No vulnerability of {len(packages)} packages is known."]


def main() -> int:
    """Ask, and print what is known."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as wanted:
        for purpose in PURPOSES:
            wanted.writelines(f"{name}=={version}\n" for name, version in pins(purpose).items())
        wanted.flush()
        ask = [
            "-m",
            "pip_audit",
            "--no-deps",
            "--disable-pip",
            "--progress-spinner",
            "off",
            "--format",
            "json",
        ]
        asked = subprocess.run(
            [sys.executable, *ask, "--requirement", wanted.name], capture_output=True, text=True, check=False
        )
    try:
        packages = json.loads(asked.stdout)["dependencies"]
    except (ValueError, LookupError):
        sys.stderr.write(f"pip-audit, which `make audit` installs, said nothing to read:\n{asked.stderr}\n")
        return os.EX_TEMPFAIL if "ConnectionError" in asked.stderr else 1
    status, said = verdict(packages)
    sys.stdout.write("".join(f"{line}\n" for line in said))
    return status


if __name__ == "__main__":
    sys.exit(main())

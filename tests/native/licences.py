"""The crates that the native core is made of, with their versions and licences: `native/THIRD-PARTY.md`.

python -m tests.native.licences [--write]

Fails if a licence is none of those that Apache-2.0 code may be combined with, or the list is not up to date.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[2] / "native"
LIST = FOLDER / "THIRD-PARTY.md"
#: One of these is enough where a crate offers several.
PERMITTED = frozenset(
    {"Apache-2.0", "Apache-2.0 WITH LLVM-exception", "MIT", "BSL-1.0", "Unlicense", "Zlib", "Unicode-3.0"}
)
_HEAD = """# The crates in eddy-native

Written by `python -m tests.native.licences --write`. Those that are only used to compile are listed too.

| crate | version | licence |
|---|---|---|
"""


def is_permitted(expression: str) -> bool:
    """Tell whether the code may be used, by an SPDX expression with at most one level of brackets.

    >>> is_permitted("MIT OR GPL-3.0"), is_permitted("(MIT OR Apache-2.0) AND Unicode-3.0")
    (True, True)
    >>> is_permitted("MIT AND GPL-3.0"), is_permitted("")
    (False, False)
    """
    parts = re.split(r"\s+AND\s+(?![^()]*\))", expression)
    return all(PERMITTED & set(re.split(r"\s+OR\s+|\s*/\s*", part.strip("() "))) for part in parts)


def crates() -> list[dict[str, Any]]:
    """Return what cargo says of each crate that this platform needs."""
    asked = [
        "cargo",
        "metadata",
        "--locked",
        "--format-version",
        "1",
        "--filter-platform",
        "x86_64-unknown-linux-gnu",
    ]
    said = json.loads(subprocess.run(asked, cwd=FOLDER, capture_output=True, check=True).stdout)
    used = {node["id"] for node in said["resolve"]["nodes"]}
    return sorted(
        (one for one in said["packages"] if one["id"] in used and one["source"] is not None),
        key=lambda one: (one["name"], one["version"]),
    )


def main() -> None:
    """Check the list, or write it."""
    found = crates()
    refused = [one["name"] for one in found if not is_permitted(one["license"] or "")]
    if refused:
        sys.exit(f"not permitted: the licences of {', '.join(refused)}")
    listed = _HEAD + "".join(f"| {one['name']} | {one['version']} | {one['license']} |\n" for one in found)
    if sys.argv[1:] == ["--write"]:
        LIST.write_text(listed)
    elif LIST.read_text() != listed:
        sys.exit(f"{LIST} is not up to date: run `python -m tests.native.licences --write`")


if __name__ == "__main__":
    main()

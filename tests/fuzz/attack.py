"""One attack in a process of its own: libFuzzer ends the process it runs in, and instruments what it imports.

python -m tests.fuzz.attack TARGET CORPUS [libFuzzer options]
"""

from __future__ import annotations

import logging
import sys
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["streams", "schemas"], enable_loader_override=False):
    from tests.fuzz.catalogue import TARGETS


def main() -> None:
    """Fill the corpus with the seeds and begin."""
    name, corpus, *options = sys.argv[1:]
    target = TARGETS[name]
    # What is refused is logged, thousands of times a second.
    logging.disable()
    folder = Path(corpus)
    for number, seed in enumerate(target.seeds()):
        (folder / f"seed-{number}").write_bytes(seed)
    words = "\n".join(_entry(word) for word in target.words)
    (folder.parent / f"{name}.dict").write_text(words + "\n")
    for made in target.made():
        atheris.instrument_func(made)
    atheris.Setup([sys.argv[0], *options, f"-dict={folder.parent / name}.dict", corpus], target.attack)
    atheris.Fuzz()


def _entry(word: str) -> str:
    """Write a word as a line of libFuzzer's dictionaries."""
    return (
        '"'
        + "".join(chr(b) if 32 <= b < 127 and b not in b'"\\' else f"\\x{b:02x}" for b in word.encode())
        + '"'
    )


if __name__ == "__main__":
    main()

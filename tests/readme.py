"""The README as tests need it: its code, its commands, and what it names."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()

_FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_SPAN = re.compile(r"`([^`]+)`")


def blocks(language: str) -> list[str]:
    """Return the fenced blocks in a language, as they stand."""
    return [block for name, block in _FENCED.findall(README) if name == language]


def spans(markdown: str = README) -> list[str]:
    """Return what stands between backticks in the running text; a line break counts as a space."""
    return [" ".join(span.split()) for span in _SPAN.findall(_FENCED.sub("", markdown))]


def prompts() -> Iterator[list[str]]:
    """Yield what is typed at a prompt, in words, without comments."""
    for block in blocks("console"):
        for line in block.splitlines():
            if line.startswith("$ "):
                yield shlex.split(line.removeprefix("$ "), comments=True)


def commands() -> list[list[str]]:
    """Return every call of `eddy`, in words after the program; `a b | c` are the calls `a b` and `a c`."""
    typed = [words for words in prompts() if Path(words[0]).name == "eddy"]
    written = [words for span in spans() if span.startswith("eddy ") for words in _alternatives(span)]
    return [words[1:] for words in (*typed, *written)]


def _alternatives(span: str) -> Iterator[list[str]]:
    first, *others = (shlex.split(part) for part in span.split(" | "))
    yield first
    for words in others:
        yield [*first[: -len(words)], *words]

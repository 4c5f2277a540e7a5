"""The pages that a person follows, as tests need them: their code, their commands, and what they name."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]

_FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_COMMENT = re.compile(r"\s+# .*$")
_SPAN = re.compile(r"`([^`]+)`")


@dataclass(frozen=True, slots=True)
class Page:
    """A page in Markdown."""

    text: str

    def blocks(self, language: str) -> list[str]:
        """Return the fenced blocks in a language, as they stand."""
        return [block for name, block in _FENCED.findall(self.text) if name == language]

    def spans(self) -> list[str]:
        """Return what stands between backticks in the running text; a line break counts as a space."""
        return [" ".join(span.split()) for span in _SPAN.findall(_FENCED.sub("", self.text))]

    def lines(self) -> Iterator[str]:
        """Yield what is typed at a prompt, as it stands there, without comments."""
        for block in self.blocks("console"):
            for line in block.splitlines():
                if line.startswith("$ "):
                    yield _COMMENT.sub("", line.removeprefix("$ "))

    def prompts(self) -> Iterator[list[str]]:
        """Yield what is typed at a prompt, in words."""
        return map(shlex.split, self.lines())

    def commands(self) -> list[list[str]]:
        """Return every call of `eddy`, in words after the program; `a b | c` are `a b` and `a c`."""
        typed = [words for words in self.prompts() if Path(words[0]).name == "eddy"]
        written = [
            words for span in self.spans() if span.startswith("eddy ") for words in _alternatives(span)
        ]
        return [words[1:] for words in (*typed, *written)]

    def typed(self, *beginning: str) -> list[str]:
        """Return the one call of `eddy` that begins so and says more than that."""
        (words,) = (
            words
            for words in self.commands()
            if tuple(words[: len(beginning)]) == beginning and len(words) > len(beginning)
        )
        return words


def _alternatives(span: str) -> Iterator[list[str]]:
    first, *others = (shlex.split(part) for part in span.split(" | "))
    yield first
    for words in others:
        yield [*first[: -len(words)], *words]


README = Page((ROOT / "README.md").read_text())
GETTING_STARTED = Page((ROOT / "docs" / "getting-started.md").read_text())
CONTRIBUTING = Page((ROOT / "CONTRIBUTING.md").read_text())
DEPLOY = Page((ROOT / "docs" / "deploy.md").read_text())
FAULT_HARNESS = Page((ROOT / "docs" / "fault-harness.md").read_text())
SECURITY = Page((ROOT / "SECURITY.md").read_text())
DETECTION = Page((ROOT / "docs" / "detection.md").read_text())
CONTROL = Page((ROOT / "docs" / "control.md").read_text())
PERSONAL_DATA = Page((ROOT / "docs" / "personal-data.md").read_text())
WATCH = Page((ROOT / "docs" / "watch.md").read_text())
INBOX = Page((ROOT / "docs" / "inbox.md").read_text())

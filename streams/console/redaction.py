"""What is never shown, and what viewers do not see: hidden before a page is made.

It is applied twice: to the records of a session before they are compared, because a comparison cuts texts
into words that no pattern matches any more; and to the content of each page.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from streams.console.auth.identity import Role
from streams.console.settings import ConsoleSettings
from streams.console.view import RecordStep
from streams.core.detectors.patterns import edit_revert, fail_loop, read_loop

REDACTED: Final = "[redacted]"

#: What agents read and wrote, by the keys of records and of pages. Everything below such a key is hidden.
AGENTS_TEXT: Final = frozenset(
    {
        "added_to_memory", "arguments", "body", "cognition", "goal", "intent", "interrupt_signal", "line",
        "raw_value", "request", "tool_input", "tool_output_summary",
    }
)  # fmt: skip

#: The same, by the key next to which they stand: elsewhere they are Eddy's own.
BESIDE: Final = {
    "result": frozenset({"arguments"}),
    "error": frozenset({"tool_call"}),
    "target": frozenset({"tool_call", "pattern"}),
}

#: What Eddy made itself: forms and links need it as it is. Anything else below such a key is not Eddy's.
OWN: Final = frozenset({"csrf", "episode_id", "command_id"})
_MADE: Final = re.compile("[0-9a-f-]{1,64}")

_NAME: Final = re.compile("[A-Za-z_]{1,24}")
_QUOTED: Final = re.compile("“(.*)”", re.DOTALL)
#: Sentences that name what an agent worked on without quoting it.
_TARGETS: Final = tuple(
    re.compile(re.escape(module.SENTENCE).replace(r"\{target\}", "(.+)"), re.DOTALL)
    for module in (edit_revert, fail_loop, read_loop)
    if "{target}" in module.SENTENCE
)
_DIGEST: Final = re.compile(r"#[g-z]{8} \([0-9,]+ characters\)")
#: None of them is a hexadecimal digit: a comparison of results replaces what looks like a number.
_LETTERS: Final = "ghijkmnpqrstuvwz"


@dataclass(frozen=True, slots=True)
class Redaction:
    """Hides texts in mappings and lists, in their values and in the keys.

    Attributes:
        patterns: what they match is never shown to anybody.
        digests: whether viewers see a digest in place of each text of an agent.
        salt: random, so that no digest can be compared with those of texts that somebody tries.
    """

    patterns: tuple[re.Pattern[str], ...] = ()
    digests: bool = False
    salt: bytes = b""

    @classmethod
    def of(cls, settings: ConsoleSettings) -> Redaction:
        """Make it from the settings."""
        patterns = tuple(map(re.compile, settings.console_redact.split()))
        return cls(patterns, settings.console_viewer_sees == "digests", secrets.token_bytes(16))

    def hides(self, role: str) -> bool:
        """Tell whether a role sees other texts than an operator: what is rendered for one is not for both."""
        return self.digests and role != Role.OPERATOR

    def applied(self, content: Mapping[str, Any], role: str) -> dict[str, Any]:
        """Return a record, or the content of a page, as someone of a role may see it.

        Doing so again changes nothing more.
        """
        hides = self.hides(role)
        if not hides and not self.patterns:
            return dict(content)
        seen = self._mapping(content, hides=hides, hidden=False)
        # The cursor of a list leads to its next page.
        return {**seen, "next": content["next"]} if "next" in content else seen

    def steps(self, steps: Sequence[RecordStep], role: str) -> tuple[RecordStep, ...]:
        """Return the steps of a session as someone of a role may compare them."""
        if not self.hides(role) and not self.patterns:
            return tuple(steps)
        return tuple(step._replace(record=self.applied(step.record, role)) for step in steps)

    def text(self, text: str) -> str:
        """Return a text without what is never shown.

        >>> Redaction((re.compile("sk-[a-z]+"),)).text("key sk-abc, twice: sk-abc")
        'key [redacted], twice: [redacted]'
        """
        for pattern in self.patterns:
            text = pattern.sub(REDACTED, text)
        return text

    def _mapping(self, content: Mapping[Any, Any], *, hides: bool, hidden: bool) -> dict[Any, Any]:
        return {
            self._key(key, hidden=hidden): value
            if not hidden and key in OWN and _MADE.fullmatch(str(value))
            else self._value(value, hides=hides, hidden=hidden or (hides and _is_agents(key, content)))
            for key, value in content.items()
        }

    def _key(self, key: Any, *, hidden: bool) -> Any:
        if not isinstance(key, str):
            return key
        return self._digest(key) if hidden and not _NAME.fullmatch(key) else self.text(key)

    def _value(self, value: Any, *, hides: bool, hidden: bool) -> Any:
        match value:
            case str():
                return self._text(value, hides=hides, hidden=hidden)
            case Mapping():
                return self._mapping(value, hides=hides, hidden=hidden)
            case list() | tuple() | set() | frozenset():
                return [self._value(each, hides=hides, hidden=hidden) for each in value]
            case bytes():
                return self._text(value.decode("utf-8", "replace"), hides=hides, hidden=hidden)
        return value

    def _text(self, text: str, *, hides: bool, hidden: bool) -> str:
        if hidden:
            return self._digest(text) if text else text
        shown = self.text(text)
        if hides:
            # What an agent wrote may hold quotation marks, and a sentence like ours: hide as much as fits.
            for sentence in (_QUOTED, *_TARGETS):
                shown = sentence.sub(self._without_group, shown)
        return shown

    def _without_group(self, found: re.Match[str]) -> str:
        whole, begin = found[0], found.start()
        return whole[: found.start(1) - begin] + self._digest(found[1]) + whole[found.end(1) - begin :]

    def _digest(self, text: str) -> str:
        """Return what stands for a hidden text. Equal texts have equal digests, so repeats still show."""
        if _DIGEST.fullmatch(text):
            return text
        digest = hashlib.sha256(self.salt + text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
        letters = "".join(_LETTERS[int(each, 16)] for each in digest)
        return f"#{letters} ({len(text):,} characters)"


def _is_agents(key: object, beside: Mapping[Any, Any]) -> bool:
    if key in AGENTS_TEXT:
        return True
    if key == "signature":  # of a run: what repeats, and its name; the one of a verdict is a digest
        value = beside[key]
        return isinstance(value, list | tuple) and bool(value) and value[0] != "tool"
    return not BESIDE.get(str(key), frozenset()).isdisjoint(beside)

"""A judged record as the definitions of the verdict speak of it (specification 2.3, 6.2, 6.3b, 6.4, 6.6)."""

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from streams.core.detectors.settings import DetectionSettings
from streams.core.detectors.verdict.act import Act, act_of
from streams.core.detectors.verdict.answer import confirms, failure_of, is_denial, tells_to_wait
from streams.core.domain.decision import Decision
from streams.core.domain.text.canonical import canonical, loose
from streams.core.domain.text.digest import digest
from streams.core.domain.text.marks import mark, words
from streams.core.domain.text.result_text import normalise_result
from streams.core.domain.tool_class import ToolPolicy


def policy_of(tool: str | None, settings: DetectionSettings) -> ToolPolicy | None:
    for policy in settings.tool_policies:
        if tool is not None and fnmatchcase(tool.lower(), policy.glob):
            return policy
    return None


@dataclass(eq=False)
class Seen:
    """A judged record, and what was true when it was judged.

    Attributes:
        previous: the record judged before it, None for the first of the session.
        joined: whether it is a further record of a round.
        brought: whether such a record of its own round brought something.
    """

    decision: Decision
    settings: DetectionSettings
    tokens_so_far: float
    previous: "Seen | None" = None
    joined: bool = False
    brought: bool = False
    window_start: int = 0
    kind: str = ""
    points: float = 0
    refers_to: int | None = None
    key: tuple[Any, ...] | None = None
    episode_id: str | None = None

    def __post_init__(self) -> None:
        action = self.decision.action
        self.tool = action.get("tool_call") or None
        self.policy = policy_of(self.tool, self.settings)
        self.status = action["status"]
        self.failed = self.status == "failure"
        error = action.get("error")
        self.text = error if self.failed and error else action.get("tool_output_summary")
        self.result = normalise_result(self.text)
        self.call = (self.tool, loose(action.get("tool_input")))
        if self.tool is None:
            self.call = (None, normalise_result(self.decision.intent or "") or "")
        said = f"tool\0{self.tool}\0{self.call[1]}" if self.tool else f"text\0{self.call[1]}"
        self.signature = digest(f"{said}\0{self.status}\0{digest(self.result) or ''}") or ""
        self.at = self.decision.timestamp
        self.gap = 0 if self.previous is None else self.at - self.previous.at
        self.content_hash = action.get("content_hash") or None
        delta = self.decision.known.get("state_delta") or {}
        self.cost = delta.get("cumulative_session_cost")
        self.moved = self.has_moved(delta)
        self.act = act_of(self.decision, self.settings)
        self.failure = self.class_of_failure()
        self.numbers: list[str] = []
        self.news = self.news_words()
        self.compared = self.compared_words()
        self.told_by_its_tool = self.what_its_tool_told()
        self.fresh: list[str] = []
        self.is_heard = False
        self.waits = self.is_waiting()
        globs = self.settings.write_tools if self.decision.kind == "tool" else ()
        self.writes = self.tool is not None and any(fnmatchcase(self.tool.lower(), glob) for glob in globs)

    def has_moved(self, delta: dict[str, Any]) -> bool:
        if (delta.get("progress_delta") or 0) > 0 or delta.get("added_to_memory"):
            return True
        before = None if self.previous is None else self.previous.content_hash
        return None not in (self.content_hash, before) and self.content_hash != before

    def class_of_failure(self) -> str | None:
        if self.failed or is_denial(self.text or ""):
            return failure_of(self.text or "", self.settings.refusal_phrases).value
        return None

    def news_words(self) -> list[str]:
        told = words((self.result or "")[:600])
        if self.tool is None:
            return [*{**words((self.decision.intent or "")[:600]), **told}]
        own = words(canonical(self.decision.action.get("tool_input"))[:1000])
        found = [word for word in told if word not in own]
        numbers = [word for word in found if word.isdecimal()]
        if len(numbers) > 2 / 3 * len(found):
            return found
        self.numbers = numbers
        return [word for word in found if word not in numbers]

    def compared_words(self) -> list[str]:
        """What is remembered of the words that are compared, in the order of their marks."""
        marks = sorted(mark(word) for word in self.news)
        return [each[:3] for each in (marks if len(marks) <= 32 else marks[:12])]

    def what_its_tool_told(self) -> str:
        """What its tool told, empty if nothing; of a digest six digits are remembered."""
        if not self.result:
            return ""
        size = len(self.news) if len(self.news) > 32 else ""
        told = f"f\0{size}" if self.failed else f"\0{size}\0{' '.join(self.numbers)}"
        return (digest(f"{self.tool}\0{told}\0{''.join(self.compared)}") or "")[:6]

    def hear(self, before: "Sequence[Seen]") -> None:
        """Find what of it is news beside the records since a person spoke."""
        told = [each for record in before for each in record.fresh][-96:]
        self.fresh = [each for each in self.compared if each not in told]
        heard: list[str] = []
        for record in before:
            if record.told_by_its_tool and record.told_by_its_tool not in heard[-24:]:
                heard.append(record.told_by_its_tool)
        self.is_heard = bool(self.told_by_its_tool) and self.told_by_its_tool in heard[-24:]

    @property
    def is_known(self) -> bool:
        return bool(self.compared) and not self.fresh

    @property
    def is_nearly_known(self) -> bool:
        most = max(1, len(self.compared) // 6)
        return len(self.news) >= 6 and 1 <= len(self.fresh) <= most

    @property
    def is_acknowledged(self) -> bool:
        if self.act is not Act.ACTS or self.failed:
            return False
        return not self.result or confirms(self.news)

    def is_waiting(self) -> bool:
        """Whether its kind is waiting."""
        if self.policy is not None and self.policy.mode == "polling":
            return True
        answered = not self.failed and self.tool is not None and tells_to_wait(self.text or "", self.act)
        return self.act is Act.WAITS or answered

    def pauses(self, gap_ms: int, block: "Sequence[Seen]") -> bool:
        """Whether so long a time is a pause for a block of records that ends with this one."""
        any_failed = any(record.failed for record in block)
        limit = self.settings.failure_gap_ms if any_failed else self.settings.poll_gap_ms
        return limit > 0 and gap_ms >= limit

"""A judged record as the definitions of the verdict speak of it (specification 2.3, 6.2, 6.4, 6.6)."""

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from streams.detectors.settings import DetectionSettings
from streams.domain.decision import Decision
from streams.domain.text.canonical import canonical, loose
from streams.domain.text.digest import digest
from streams.domain.text.result_text import normalise_result
from streams.domain.text.tokens import tokens
from streams.domain.tool_policy import ToolPolicy

CONFIRMING = (
    "ok done success successful successfully completed created updated modified written saved sent added"
    " deleted removed moved copied edited applied"
)


def policy_of(tool: str | None, settings: DetectionSettings) -> ToolPolicy | None:
    for policy in settings.tool_policies:
        if tool is not None and fnmatchcase(tool.lower(), policy.glob):
            return policy
    return None


@dataclass
class Seen:
    """A visible record, and what was true when it was judged."""

    decision: Decision
    settings: DetectionSettings
    tokens_so_far: float
    policy: ToolPolicy | None
    window_start: int = 0
    key: tuple[Any, ...] | None = None
    episode_id: str | None = None

    def __post_init__(self) -> None:
        action = self.decision.action
        self.tool = action.get("tool_call") or None
        self.status = action["status"]
        self.failed = self.status == "failure"
        error = action.get("error")
        text = error if self.failed and error else action.get("tool_output_summary")
        self.result = normalise_result(text)
        self.arguments = canonical(action.get("tool_input"))
        called = loose(action.get("tool_input"))
        self.call = (self.tool, called)
        if self.tool is None:
            self.call = (None, normalise_result(self.decision.intent or "") or "")
        said = f"tool\0{self.tool}\0{called}" if self.tool else f"text\0{self.call[1]}"
        self.signature = digest(f"{said}\0{self.status}\0{digest(self.result) or ''}")
        self.at = self.decision.timestamp
        self.polling = self.policy is not None and self.policy.mode == "polling"
        delta = self.decision.known.get("state_delta") or {}
        self.cost = delta.get("cumulative_session_cost")
        progress = delta.get("progress_delta")
        self.progressed = (progress is not None and progress > 0) or bool(delta.get("added_to_memory"))
        self.content_hash = action.get("content_hash") or None
        self.wrote = self.status == "success" and self.writes()

    def spaced(self, earlier: "Seen", block: "list[Seen]") -> bool:
        gap = self.settings.poll_gap_ms
        waited = max(0, self.at - earlier.at)
        return gap > 0 and waited >= gap and not any(record.failed for record in block)

    def is_any(self, globs: tuple[str, ...]) -> bool:
        if self.decision.kind != "tool" or self.tool is None:
            return False
        return any(fnmatchcase(self.tool.lower(), glob) for glob in globs)

    def writes(self) -> bool:
        return self.is_any(self.settings.write_tools)

    def changes_things(self) -> bool:
        if self.writes():
            return True
        return not self.is_any(self.settings.read_tools) and self.is_any(self.settings.command_tools)


def trivial(result: str) -> bool:
    words = tokens(result)
    return len(words) < 3 or (len(words) < 20 and bool(words & set(CONFIRMING.split())))

"""R8 by its definition (specification 6.5c)."""

from dataclasses import dataclass

from streams.domain.tool_class import ToolClass, tool_class
from tests.unit.detectors.verdict.naive_seen import Seen, trivial


def counted(record: Seen, kind: str) -> int:
    """What a record adds: 1 for a step that told nothing new, -3 for one that did, 0 for neither."""
    class_ = None
    if record.tool is not None and record.decision.kind == "tool":
        class_ = tool_class(record.tool, record.settings)
    limited = record.policy is not None and record.policy.mode == "limits"
    if kind in ("first", "apart", "silent") or limited or class_ is ToolClass.write:
        return 0
    if record.failed:
        return 1
    if kind in ("new", "rerun", "again_other"):
        return 0 if not record.result or trivial(record.result) else -3
    return int(kind != "echo" or class_ is ToolClass.command)


@dataclass
class NaiveStalled:
    count: int = 0
    counts: bool = False
    first: Seen | None = None

    def add(self, record: Seen, kind: str) -> None:
        if "R8" not in record.settings.verdict_rules:
            self.count, self.counts, self.first = 0, False, None
            return
        points = counted(record, kind)
        if self.count == 0:
            self.first = record
        self.count = max(0, self.count + points)
        self.counts = points > 0

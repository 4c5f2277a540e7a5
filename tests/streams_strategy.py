"""Hypothesis strategies for what a partition really carries: loops, ends, gaps, nonsense, new settings."""

from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from tests.stream import decision_log

DAY_MS = 86_400_000


@dataclass(frozen=True)
class Send:
    """A record at its place."""

    value: dict[str, Any]
    partition: int
    offset: int


@dataclass(frozen=True)
class Change:
    """A settings document with these keys changed."""

    settings: dict[str, Any]


Entry = Send | Change

# Few of each, so that windows fill with equal things; long and odd texts among them.
INTENTS = st.sampled_from(["search", "plan", "Search", "", "größer ☃", "x" * 3000, None])
CALLS = st.sampled_from(
    [
        {"tool": "read_file", "target": "/f", "content_hash": "h0"},
        {"tool": "read_file", "target": "/f", "content_hash": "h1" * 40},
        {"tool": "read_file", "target": "/g" * 900},
        {"tool": "write_file", "target": "/f", "content_hash": "h0"},
        {"tool": "write_file", "target": "/f", "content_hash": "h1" * 40},
        {"tool": "write_file", "target": ""},
        {"tool": "bash", "tool_input": '{"command": "pytest"}', "error": "1 failed in 0.1s"},
        {"tool": "bash", "tool_input": '{"command":"ruff"}', "tool_output_summary": "ok"},
        {"tool": "", "kind": "tool"},
        {"tool": None},
        {"tool": "generate", "kind": "llm"},
        {"tool": "t" * 2000, "kind": "k" * 2000},
    ]
)
STATUSES = st.sampled_from(["failure", "success", "failure", "pending", "skipped"])
AGENTS = st.sampled_from(["agent-1", "agent-1", "agent-1", "", "  "])

CHANGES = st.sampled_from(
    [
        {"entropy_window_size": 1},
        {"entropy_window_size": 3},
        {"entropy_window_size": 9},
        {"entropy_window_size": "bad"},
        {"entropy_loop_threshold": 0.5, "entropy_warning_threshold": 0.5},
        {"node_state_source": "max", "alert_every_record": False, "topology_every_record": False},
        {"node_state_source": "verdict"},
        {"alert_every_record": False, "alert_heartbeat_records": 2},
        {"alert_families": []},
        {"score_statuses": ["success", "failure"]},
        {"repeat_ring_size": 4, "repeat_dedup": "rearm"},
        {"repeat_thresholds": {"tool": 2, "llm": 2, "system": 999, "default": 2}},
        {"pattern_window": 4, "pattern_cooldown": 0, "pattern_alpha": 1.0},
        {"pattern_adaptive_cooldown": True, "pattern_theta": 2},
        {"session_ttl_ms": 5000},
        {"session_ttl_ms": 0},
    ]
)


@st.composite
def decisions(draw: st.DrawFn) -> dict[str, Any]:
    """A decision without its place in time."""
    return {"intent": draw(INTENTS), "status": draw(STATUSES), "agent": draw(AGENTS), **draw(CALLS)}


def spoilt(value: dict[str, Any], how: str) -> dict[str, Any]:
    """Make a record invalid, or give it fields nobody knows."""
    match how:
        case "status":
            value["action"]["status"] = "maybe"
        case "timestamp":
            value["meta"]["timestamp"] = -1
        case "group":
            value["identity"] = []
        case "unknown":
            value["colour"] = {"red": float("nan")}
            value["action"]["latency_ms"] = "?"
    return value


SPOILING = st.sampled_from(["no", "no", "no", "no", "no", "status", "timestamp", "group", "unknown"])
PAUSES_MS = st.sampled_from([0, 1000, 1000, 1000, -5000, 6000, DAY_MS, DAY_MS + 1])


@st.composite
def partitions(draw: st.DrawFn, *, sessions: int = 2, moving: bool = True) -> list[Entry]:
    """The entries of one stream: segments in which a few decisions of one session take turns.

    With ``moving`` the sessions change the partition now and then, as after a repartitioning.
    """
    entries: list[Entry] = []
    next_offsets = {0: 0, 1: 0}
    partition, number, now = 0, 0, 0
    for _ in range(draw(st.integers(1, 6))):
        if draw(st.integers(0, 3)) == 0:
            entries.append(Change(draw(CHANGES)))
        if moving and draw(st.integers(0, 5)) == 0:
            partition = 1 - partition
        session = f"s{draw(st.integers(1, sessions))}"
        turns = draw(st.lists(decisions(), min_size=1, max_size=3))
        pause = draw(PAUSES_MS)
        spoiling = draw(SPOILING)
        gap = draw(st.sampled_from([1, 1, 1, 7]))
        length = draw(st.integers(1, 12))
        ends = draw(st.integers(0, 4)) == 0
        for turn in range(length):
            now += pause if turn == 0 else 1000
            value = decision_log(
                number=number,
                session=session,
                at_ms=now,
                terminal=ends and turn == length - 1,
                **turns[turn % len(turns)],
            )
            if turn == length // 2:
                value = spoilt(value, spoiling)
            next_offsets[partition] += gap
            entries.append(Send(value, partition, next_offsets[partition]))
            number += 1
    return entries

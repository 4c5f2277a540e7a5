"""Hypothesis strategies for what a partition really carries: loops, ends, gaps, nonsense, new settings."""

from dataclasses import dataclass
from reprlib import Repr
from typing import Any

from hypothesis import strategies as st

from tests.stream import decision_log

DAY_MS = 86_400_000

# How a failing example shows its records: what differs most, and no long texts.
_SHORT = Repr()
_SHORT.maxdict, _SHORT.maxstring = 8, 24


@dataclass(frozen=True)
class Send:
    """A record at its place."""

    value: dict[str, Any]
    partition: int
    offset: int

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        told = {name: _SHORT.repr(self.value.get(name)) for name in ("session_id", "action", "state_delta")}
        printer.text(f"Send({', '.join(told.values())}, {self.partition}, {self.offset})")


@dataclass(frozen=True)
class Change:
    """A settings document with these keys changed."""

    settings: dict[str, Any]


Entry = Send | Change

# What stands for the number of the record in a text, so that texts differ a little from one another.
NUMBER = "{n}"
TEN_WORDS = "these ten words come back each time as they were"

# Few of each, so that windows fill with equal things; long and odd texts among them.
INTENTS = st.sampled_from(["search", "plan", "Search", "", "größer ☃", "x" * 3000, None])
FILES = st.sampled_from(
    [
        {"tool": "read_file", "target": "/f", "content_hash": "h0"},
        {"tool": "read_file", "target": "/f", "content_hash": "h1" * 40},
        {"tool": "read_file", "target": "/g" * 900},
        {"tool": "write_file", "target": "/f", "content_hash": "h0"},
        {"tool": "write_file", "target": "/f", "content_hash": "h1" * 40},
        {"tool": "write_file", "target": ""},
    ]
)
COMMANDS = st.sampled_from(
    [
        {"tool": "bash", "tool_input": '{"command": "pytest"}', "error": "1 failed in 0.1s"},
        {"tool": "bash", "tool_input": '{"command":"ruff"}', "tool_output_summary": "ok"},
        {"tool": "bash", "tool_input": "{}", "tool_output_summary": f"part {NUMBER}: {TEN_WORDS}\n" * 80},
        {"tool": "get_status", "tool_output_summary": "the build is running since 2024-05-13 10:00:00"},
        {"tool": "get_status", "error": "HTTP 429: too many requests"},
    ]
)
# The same work again and again in other words: what exact matching misses.
ALMOST_THE_SAME = st.sampled_from(
    [
        {"tool": "Search_v2", "tool_input": f'{{"query": "{NUMBER}"}}', "tool_output_summary": TEN_WORDS},
        {"tool": "list", "tool_input": NUMBER, "tool_output_summary": "no orders for this customer"},
        {"tool": "list", "tool_input": f"page {NUMBER}", "tool_output_summary": "no orders of that kind"},
        {"tool": "search_v3", "tool_input": f'{{"query": "{NUMBER}"}}', "error": "no such index here"},
        {
            "tool": "get_page",
            "tool_input": f"{TEN_WORDS} {NUMBER}",
            "tool_output_summary": f"{TEN_WORDS} {NUMBER}",
        },
        {"tool": "get_page", "tool_input": "all", "tool_output_summary": f"{TEN_WORDS}, now {NUMBER}"},
        {"tool": "get_page", "tool_input": NUMBER, "tool_output_summary": f"{TEN_WORDS}, of x{NUMBER}"},
    ]
)
# An agent that waits for what runs elsewhere, and looks now and then.
WAITS = st.sampled_from(
    [
        {"tool": "wait", "tool_input": '{"seconds": 30}'},
        {"tool": "bash_output", "tool_input": '{"id": 7}', "tool_output_summary": "job 7: still running"},
        {"tool": "write_stdin", "tool_input": '{"chars": ""}', "tool_output_summary": f"line {NUMBER}"},
        {"tool": "bash", "tool_input": '{"command": "sleep 60"}'},
    ]
)
# An agent that looks for what is not there, or does nothing at all.
FRUITLESS = {"status": "success", "delta": None}
IN_VAIN = st.sampled_from(
    [
        {"tool": "grep", "tool_input": NUMBER, "tool_output_summary": "no matches"} | FRUITLESS,
        {"tool": "find", "tool_input": NUMBER, "tool_output_summary": "[]"} | FRUITLESS,
        {
            "tool": "bash",
            "tool_input": f'{{"command": "echo {NUMBER}"}}',
            "tool_output_summary": NUMBER,
        }
        | FRUITLESS,
    ]
)
# An agent that acts, and is told no more than that it did.
ACTIONS = st.sampled_from(
    [
        {"tool": "click", "tool_input": "next", "tool_output_summary": "clicked", "status": "success"},
        {"tool": "click", "tool_input": "back", "status": "success"},
        {"tool": "write_file", "target": "/f", "tool_output_summary": "saved", "status": "success"},
    ]
)
THOUGHTS = st.sampled_from(
    [
        {"tool": None, "intent": "let me think about the plan"},
        {"tool": None, "intent": "I think about the plan again"},
        {"tool": None, "tool_output_summary": TEN_WORDS},
    ]
)
# What somebody does not let an agent do, and what answers say of it.
REFUSED = st.sampled_from(
    [
        {"tool": "bash", "tool_input": f"rm {NUMBER}", "error": f"permission denied x{NUMBER}"},
        {"tool": "edit_file", "target": "/f", "error": "string to replace not found in file"},
        {"tool": "list", "tool_input": NUMBER, "tool_output_summary": "Blocked: see the handbook"},
        {"tool": "ask_user", "tool_input": f"may I {NUMBER}?", "error": "no user is available"},
        {"tool": "ask_user", "tool_input": f"may I {NUMBER}?", "tool_output_summary": "you may"},
        {"tool": "list", "tool_input": NUMBER, "error": "cancelled because of a sibling tool call"},
    ]
)
ODD = st.sampled_from(
    [
        {"tool": "", "kind": "tool"},
        {"tool": None},
        {"tool": None, "tool_output_summary": f"{TEN_WORDS}, thought {NUMBER}"},
        {"tool": "generate", "kind": "llm"},
        {"tool": "note", "kind": "system"},
        {"tool": "t" * 2000, "kind": "k" * 2000},
    ]
)
# What a session is at for a while. Most of it is one kind of work.
THEMES = st.sampled_from(
    [
        *(FILES, COMMANDS, ALMOST_THE_SAME, WAITS, IN_VAIN, ACTIONS, THOUGHTS, REFUSED, ODD),
        FILES | COMMANDS | WAITS | ACTIONS | REFUSED | ODD,
    ]
)
STATUSES = st.sampled_from(["failure", "success", "failure", "success", "pending", "skipped"])
GOALS = st.sampled_from([None, None, "Fix the login bug in the auth module", "search and plan", "!"])
DELTAS = st.sampled_from(
    [
        None,
        None,
        {"tokens_consumed": 100, "cumulative_session_cost": 0.25},
        {"tokens_consumed": 1500, "progress_delta": 0.05, "context_quality": 0.9},
        {"progress_delta": 0.0},
        {"progress_delta": -0.01, "context_quality": 0.25, "cumulative_session_cost": 3},
        {"progress_delta": 0.46, "tokens_consumed": 60_000},
        {"added_to_memory": ["a fact"], "tokens_consumed": 0.5},
        {"progress_delta": 1e308, "tokens_consumed": 2**62, "context_quality": -1e308},
    ]
)
TASK_TYPES = st.sampled_from([None, "", "api", "api"])
AGENTS = st.sampled_from(["agent-1", "agent-1", "agent-1", "", "  "])
# What a person said before a decision, and how many decisions were made at once.
SPOKEN = st.sampled_from([None, None, None, None, "a task", "approval", "refusal", ""])
ROUNDS = st.sampled_from([0, 0, 0, 0, 0, 2, 3])

CHANGES = st.sampled_from(
    [
        {"entropy_window_size": 1},
        {"entropy_window_size": 3},
        {"entropy_window_size": 9},
        {"entropy_window_size": "bad"},
        {"entropy_loop_threshold": 0.5, "entropy_warning_threshold": 0.5},
        {"node_state_source": "max", "alert_every_record": False, "topology_every_record": False},
        {"alert_every_record": False, "alert_heartbeat_records": 1},
        {"node_state_source": "verdict"},
        {"alert_every_record": False, "alert_heartbeat_records": 2},
        {"alert_families": []},
        {"score_statuses": ["success", "failure"]},
        {"repeat_ring_size": 4, "repeat_dedup": "rearm"},
        {"repeat_thresholds": {"tool": 2, "llm": 2, "system": 999, "default": 2}},
        {"pattern_window": 4, "pattern_cooldown": 0, "pattern_alpha": 1.0},
        {"pattern_adaptive_cooldown": True, "pattern_theta": 2},
        {"loop_window_size": 3, "oscillation_threshold": 2, "dead_end_threshold": 2},
        {"loop_window_size": 12, "exact_hash_threshold": 3, "semantic_threshold": 0.5},
        {"enable_all_strategies": False},
        {"goal_window": 1, "trend_window": 2, "stuck_horizon": 2, "trend_velocity": 0.0},
        {"goal_window": 12, "trend_window": 6, "nudge_threshold": 0.05, "replan_threshold": 0.1},
        {"initial_steps": 3, "initial_tokens": 5000, "velocity_window": 2, "stuck_steps": 2},
        {"velocity_window": 1, "emergency_progress": 0.2, "emergency_steps": 1, "emergency_tokens": 0},
        {"enable_emergency_extensions": False, "budget_cap_factor": 1.0},
        {"enable_historical_profiling": False},
        {"metrics_window": 2, "metrics_ngram": 2},
        {
            "metrics_window": 20,
            "tool_groups": [{"group": "look", "patterns": ["search*", "read_*", "get_*"]}],
        },
        {"verdict_window": 6, "recover_records": 1, "episode_min_level": "WARNING"},
        {"verdict_statuses": ["success", "failure", "pending"], "verdict_rules": ["R2", "R9"]},
        {"verdict_enabled": False},
        {"identical_warn": 2, "identical_loop": 2, "cycle_max_period": 2, "poll_gap_ms": 0},
        {
            "verdict_rules": ["R1", "R2", "R7"],
            "identical_failing_warn": 2,
            "stuck_warn": 0.5,
            "failure_gap_ms": 1000,
        },
        {"cycle_max_period": 7, "cycle_warn": 2, "cycle_loop": 2, "waiting_warn_minutes": 1},
        {"waiting_warn_minutes": 2, "waiting_loop_minutes": 3, "recover_records": 2},
        {"refusal_phrases": ["see the handbook", "no such index"], "failure_gap_ms": 0},
        {"tool_policies": {"get_status": {"mode": "polling"}, "*a*": {"mode": "exempt"}}},
        {"tool_policies": {"read_*": {"mode": "limits", "warn": 2, "loop": 4}}},
        {"tool_policies": {"*": {"mode": "polling", "warn": 2}}},
        {"session_ttl_ms": 5000},
        {"session_ttl_ms": 0},
    ]
)


@st.composite
def decisions(draw: st.DrawFn, calls: st.SearchStrategy[dict[str, Any]]) -> dict[str, Any]:
    """A decision without its place in time."""
    return {
        "intent": draw(INTENTS),
        "status": draw(STATUSES),
        "agent": draw(AGENTS),
        "goal": draw(GOALS),
        "delta": draw(DELTAS),
        "task_type": draw(TASK_TYPES),
        **draw(calls),
    }


def placed(decision: dict[str, Any], number: int, **place: Any) -> dict[str, Any]:
    """Give a decision its place in a session, and its number to the texts that have one."""
    texts = {
        name: text.replace(NUMBER, str(number)) if isinstance(text, str) else text
        for name, text in decision.items()
    }
    goal, delta, task_type = texts.pop("goal"), texts.pop("delta"), texts.pop("task_type")
    value = decision_log(number=number, **texts, **place)
    if goal is not None and "cognition" in value:
        value["cognition"]["goal"] = goal
    if delta is not None:
        value["state_delta"] = dict(delta)
    if task_type is not None:
        value["task_type"] = task_type
    return value


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
PACES_MS = st.sampled_from([1000, 1000, 1000, 59_999, 60_000, 1_200_000])
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
        if draw(st.integers(0, 1)) == 0:
            entries.append(Change(draw(CHANGES)))
        if moving and draw(st.integers(0, 5)) == 0:
            partition = 1 - partition
        session = f"s{draw(st.integers(1, sessions))}"
        # Mostly so few that they come again soon; now and then a long cycle.
        long = draw(st.integers(0, 7)) == 0
        turns = draw(st.lists(decisions(draw(THEMES)), min_size=6 if long else 1, max_size=8 if long else 3))
        if long:
            # One that moved something would be no cycle.
            turns = [
                {**each, "tool_input": f"part {turn}", "content_hash": "h0", "delta": None}
                for turn, each in enumerate(turns)
            ]
        pause = draw(PAUSES_MS)
        pace = draw(PACES_MS)
        spoiling = draw(SPOILING)
        gap = draw(st.sampled_from([1, 1, 1, 7]))
        length = draw(st.integers(16, 26) if long else st.integers(1, 12))
        spoken, of_round = draw(SPOKEN), draw(ROUNDS)
        ends = draw(st.integers(0, 4)) == 0
        for turn in range(length):
            now += pause if turn == 0 else pace
            value = placed(
                turns[turn % len(turns)],
                number,
                session=session,
                at_ms=now,
                terminal=ends and turn == length - 1,
            )
            if spoken is not None and turn == length // 3:
                value["meta"]["user_turn"] = spoken
            if of_round:
                value["meta"]["round_id"] = f"round {number // of_round}"
            if turn == length // 2:
                value = spoilt(value, spoiling)
            next_offsets[partition] += gap
            entries.append(Send(value, partition, next_offsets[partition]))
            number += 1
    return entries

"""Random histories of a session for the comparison with the definitions, under settings that change."""

from dataclasses import dataclass, replace
from typing import Any

from hypothesis import strategies as st

from tests.stream import decision_log
from tests.unit.core.detectors.verdict.sequences import WORDS

Entry = dict[str, Any]

LONG = " ".join(f"{word}{letter}" for word in WORDS.split() for letter in "abcd")
VERY_LONG = " ".join(f"{letter}{number}x" for number in range(99) for letter in "abcd")
FRESH = "alpha{} beta{} gamma{} delta{} epsilon{}"
NUMBERS = "1 1 2 3 5 8 13 21 34 55"

# Many of these hardly differ, or differ only in what a rule asks about. {} is the number of the record.
TOOLS = st.sampled_from(
    [
        *("search", "search", "get_page", "read_file", "edit_file", "edit_file", "bash", "bash"),
        *("click", "BashOutput", "write_stdin", "ask_user", "mystery", None, None),
    ]
)
ARGUMENTS = st.sampled_from(
    [
        '{"q": 1}',
        '{"q": "1", "page": null}',
        '{"q": 2}',
        '{"q": {}}',
        f'{{"q": "{WORDS} w{{}}"}}',
        f'{{"q": "{WORDS}"}}',
        None,
    ]
)
COMMANDS = st.sampled_from(
    [
        f'{{"command": "{line}"}}'
        for line in (
            *("pytest", "ls", "cat f{}", "grep w{} f", "rm f{}", "git status", "git commit -m {}", "echo {}"),
            *("true", "echo hi", "echo $HOME", "pwd", "sleep 30", "sleep 0", "python x.py > out", "make {}"),
        )
    ]
)
RESULTS = st.sampled_from(
    [
        "three rows were found",
        "three rows were found",
        f"{WORDS} r{{}}",
        f"{WORDS} w{{}} r{{}}",
        f"{WORDS} w{{}}",
        WORDS,
        f"eleven {WORDS}",
        LONG,
        f"{LONG} r{{}}",
        " ".join(reversed(LONG.split())),
        VERY_LONG,
        f"{VERY_LONG} {{}}",
        FRESH,
        FRESH + " " + FRESH.upper().replace("A", "O"),
        f"{NUMBERS} {{}}",
        f"{NUMBERS} rows",
        "{}",
        "page {} of 9",
        "r{}",
        "file {} saved to the place you gave",
        "saved to the place you gave",
        "clicked",
        "ok",
        "new result {}",
        "No files found",
        "[]",
        "",
        None,
        None,
    ]
)
WAITING_ANSWERS = st.sampled_from(
    [
        "job {}: still running",
        "command is running in the background with id {}",
        f"no new output since {WORDS}",
        "in progress",
    ]
)
ERRORS = st.sampled_from(
    [
        "the old string was not found",
        "the old string {} was not found in file f{}",
        "no human available to answer",
        "no human available, asked {}",
        "cancelled: sibling tool call errored",
        "hook denied this: rule r{} of s{}",
        "permission denied",
        "unknown tool t{}",
        f"{WORDS} r{{}}",
        f"{LONG} {{}}",
        "E{} boom",
        "E boom",
        "",
        "HTTP 503",
        "house rule {} forbids it",
    ]
)
DENIALS = st.sampled_from(
    ["BLOCKED: goal g{} is active", "permission denied", "Rejected: it was cancelled by u{}"]
)
EXTRAS = st.sampled_from(
    [
        *[{}] * 9,
        {"progress_delta": 0.1},
        {"progress_delta": 0.0},
        {"added_to_memory": ["fact"]},
        {"tokens_consumed": 100, "cumulative_session_cost": 0.5},
        {"tokens_consumed": 7},
    ]
)
HASHES = st.sampled_from([None, None, None, None, "h0", "h1", "h{}"])
STATUSES = st.sampled_from(["success", "success", "success", "failure", "failure", "skipped", "pending"])
PAUSES_MS = st.sampled_from(
    [1000, 1000, 1000, 1000, 0, -5000, 29_999, 59_999, 60_000, 200_000, 300_000, 599_999, 600_000]
)
PERSONS = st.sampled_from(["task", "correction", "interruption", "approval", "refusal", ""])
POLICIES = st.sampled_from(
    [
        {},
        {"sea*": {"mode": "exempt"}},
        {"get_*": {"mode": "polling"}},
        {"s*": {"mode": "polling", "warn": 3, "loop": 4}, "*": {"mode": "limits", "warn": 2, "loop": 5}},
        {"SEARCH": {"mode": "exempt"}, "search": {"mode": "limits", "warn": 5, "loop": 6}},
    ]
)
CHANGES = st.one_of(
    st.fixed_dictionaries({"tool_policies": POLICIES}),
    st.fixed_dictionaries({"verdict_window": st.sampled_from([6, 7, 9, 30])}),
    st.fixed_dictionaries({"poll_gap_ms": st.sampled_from([0, 1000, 60_000])}),
    st.fixed_dictionaries({"failure_gap_ms": st.sampled_from([0, 1000, 600_000])}),
    st.fixed_dictionaries({"cycle_max_period": st.sampled_from([2, 3, 5, 6, 8, 60])}),
    st.fixed_dictionaries({"recover_records": st.integers(1, 4)}),
    st.fixed_dictionaries({"alert_heartbeat_records": st.integers(0, 4)}),
    st.fixed_dictionaries({"refusal_phrases": st.sampled_from([[], ["house rule"]])}),
    st.sampled_from(
        [
            {},
            {"verdict_rules": ["R2", "R9"]},
            {"verdict_rules": ["R7"], "stuck_warn": 2.0, "stuck_loop": 2.5},
            {"verdict_statuses": ["success"]},
            {"verdict_statuses": ["success", "failure", "skipped", "pending"]},
            {"verdict_enabled": False},
            {"verdict_enabled": False},
            {"identical_warn": 2, "identical_loop": 7, "cycle_warn": 2, "cycle_loop": 2},
            {"identical_failing_warn": 2, "identical_failing_loop": 3},
            {"waiting_warn_minutes": 1, "waiting_loop_minutes": 4},
            {"read_tools": [], "write_tools": ["get_page"], "command_tools": []},
        ]
    ),
)
# Small windows and quick recoveries, so that much happens at their edges.
FIRST = st.fixed_dictionaries(
    {
        "verdict_window": st.sampled_from([6, 8, 30]),
        "recover_records": st.sampled_from([1, 2, 3]),
        "verdict_rules": st.sampled_from([["R1", "R2", "R7", "R9"], ["R1", "R2", "R9"], ["R7"]]),
        "stuck_warn": st.sampled_from([0.5, 1.2, 3.0]),
        "waiting_warn_minutes": st.sampled_from([1, 3, 10]),
    }
)


@dataclass(frozen=True)
class Turn:
    """What an agent does in its turn, time after time."""

    action: dict[str, Any]
    delta: dict[str, Any]
    pause_ms: int
    person: str | None = None

    def value(self, number: int, now: int, round_id: str | None) -> dict[str, Any]:
        action = {
            name: text.replace("{}", str(number)) if isinstance(text, str) else text
            for name, text in self.action.items()
        }
        intent = action.pop("intent")
        value = decision_log(intent, action.pop("tool"), number=number, at_ms=now, **action)
        meta = {"round_id": round_id, "user_turn": self.person}
        value["meta"] |= {name: text for name, text in meta.items() if text is not None}
        return {**value, "state_delta": self.delta} if self.delta else value


def turn(tool: str, arguments: str, result: str, status: str = "success", pause_ms: int = 1000) -> Turn:
    told = "error" if status == "failure" else "tool_output_summary"
    action = {"tool": tool, "status": status, "tool_input": arguments, told: result, "intent": "work"}
    return Turn(action, {}, pause_ms)


SOMETHING_NEW = turn("look_at_{}", '{"at": {}}', FRESH)
# Each is a loop of its own; between the others they are what a rule must tell from it.
LOOPS = st.sampled_from(
    [
        turn("get_page", '{"q": 1}', "three rows were found"),
        turn("edit_file", '{"q": {}}', "the old string was not found", "failure"),
        turn("edit_file", '{"q": 1}', "ok"),
        turn("click", '{"at": {}}', "clicked"),
        turn("get_page", '{"q": {}}', "three rows were found"),
        turn("search", f'{{"q": "{WORDS} w{{}}"}}', f"{WORDS} r{{}}"),
        turn("read_file", '{"q": 1}', f"{LONG} {{}} {{}}0"),
        turn("get_page", '{"q": 1}', f"{WORDS} eleven r{{}}"),
        turn("get_page", '{"job": 7}', "job 7: still running", pause_ms=59_999),
        turn("bash", '{"command": "sleep 30"}', "", pause_ms=30_000),
        turn("BashOutput", '{"id": 7}', FRESH),
        turn("bash", '{"command": "true"}', ""),
        turn("bash", '{"command": "echo w{}"}', ""),
        turn("bash", '{"command": "echo w{}"}', "w{}"),
        turn("bash", '{"command": "pwd"}', "here{}"),
        turn("search", '{"q": {}}', "No files found"),
        turn("bash", '{"command": "deploy {}"}', "hook denied: rule r{} of s{}", "failure"),
    ]
)
PLACES = [
    turn("get_page", f'{{"q": "place {number}"}}', FRESH.replace("{}", f"at{number}")) for number in range(12)
]


@st.composite
def turns(draw: st.DrawFn) -> Turn:
    status, tool = draw(STATUSES), draw(TOOLS)
    results = (
        ERRORS if status == "failure" else st.one_of(RESULTS, RESULTS, RESULTS, WAITING_ANSWERS, DENIALS)
    )
    action = {
        "tool": tool,
        "status": status,
        "tool_input": draw(COMMANDS if tool == "bash" else ARGUMENTS),
        "error" if status == "failure" else "tool_output_summary": draw(results),
        "content_hash": draw(HASHES),
        "intent": draw(st.sampled_from(["work", "think {}", WORDS, "", "", ""])),
    }
    if draw(st.integers(0, 14)) == 0:
        action["kind"] = draw(st.sampled_from(["system", "llm", "tool"]))
    person = draw(PERSONS) if draw(st.integers(0, 11)) == 0 else None
    return Turn(action, draw(EXTRAS), draw(PAUSES_MS), person)


@st.composite
def segments(draw: st.DrawFn, known: list[Turn]) -> list[Turn]:
    """What an agent does for a while: a few of its turns one after another, or something new each time."""
    match draw(st.integers(0, 8)):
        case 0:
            # Something new each time pushes what was before to the edge of the window, and out of it.
            return [SOMETHING_NEW] * draw(st.integers(1, 9))
        case 1 | 2:
            # A long circle, of which a step now and then is missed.
            steps = draw(st.sampled_from([6, 6, 7, 8, 12]))
            rounds = [PLACES[number % steps] for number in range(draw(st.integers(2 * steps, 3 * steps + 2)))]
            for at in draw(st.lists(st.integers(0, len(rounds) - 1), max_size=1)):
                rounds[at] = draw(st.sampled_from([*known, SOMETHING_NEW]))
            return rounds
        case _:
            takers = draw(st.lists(st.sampled_from(known), min_size=1, max_size=5))
            length = draw(st.sampled_from([1, 2, 3, 4, 7, 12]))
            return [takers[turn % len(takers)] for turn in range(length)]


@st.composite
def histories(draw: st.DrawFn) -> list[Entry]:
    """Segments, in rounds or not, some coming back later, under settings that change."""
    known = draw(st.lists(st.one_of(LOOPS, turns()), min_size=2, max_size=5))
    entries: list[Entry] = [{"set": draw(FIRST)}]
    now = 1_000_000
    for segment in range(draw(st.integers(1, 6))):
        if draw(st.integers(0, 2)) == 0:
            entries.append({"set": draw(CHANGES)})
        calls = draw(st.sampled_from([0, 0, 0, 0, 1, 2, 2, 3]))
        for number, taker in enumerate(draw(segments(known))):
            now = max(0, now + taker.pause_ms)
            round_id = f"round {segment} {number // calls}" if calls else None
            entries.append({"value": taker.value(len(entries), now, round_id)})
        if draw(st.integers(0, 4)) == 0:
            known.append(draw(turns()))
        if draw(st.integers(0, 3)) == 0:
            at = draw(st.integers(0, len(known) - 1))
            known.append(replace(known[at], pause_ms=draw(PAUSES_MS)))
    return entries

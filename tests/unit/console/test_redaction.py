"""What is never shown, and what viewers do not see."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.console.redaction import AGENTS_TEXT, REDACTED, Redaction
from streams.console.settings import ConsoleSettings
from streams.core.domain.text.result_text import normalise_result
from streams.operate.explain.explanation import sentence

KEY = "sk-0123456789abcdef"
NEVER = Redaction((re.compile(r"sk-[0-9a-f]{16}"),))
DIGESTS = Redaction(digests=True, salt=b"salt")

TEXTS = st.text(max_size=20).map(lambda text: f"{text}{KEY}{text}")
CONTENT = st.recursive(
    TEXTS | st.integers() | st.none() | st.booleans(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(TEXTS | st.text(max_size=9), inner, max_size=3)
    ),
    max_leaves=12,
)
RECORD = {
    "session_id": "s-1",
    "task_type": "coding",
    "cognition": {"goal": "buy the shop", "intent": "look around", "reasoning_chain": ["step one"]},
    "action": {
        "status": "failed",
        "tool_call": "shop",
        "tool_input": '{"who": "the shop"}',
        "target": "the shop",
        "error": "the shop is closed",
        "tool_output_summary": "nothing in the shop",
    },
    "state_delta": {"added_to_memory": ["the shop"], "tokens_consumed": 7},
    "eddy": {
        "verdict": {"level": "LOOP", "raw": "LOOP", "signature": "91c0ffee"},
        "repeat": {"signature": ["intent", "visit the shop"]},
        "events": [{"signature": ["tool", "shop_tool"], "tools": ["shop_tool"], "target": "blocked"}],
        "uniqueness": {"repeated_pattern": {"intent": "the shop", "tool_call": "search"}},
    },
}


@given(
    content=st.dictionaries(st.text(max_size=9), CONTENT, max_size=4),
    role=st.sampled_from(["viewer", "operator"]),
)
def test_what_a_pattern_matches_is_shown_to_nobody(content: dict[str, Any], role: str) -> None:
    assert KEY not in repr(NEVER.applied(content, role))


@given(content=st.dictionaries(st.sampled_from(sorted(AGENTS_TEXT)), CONTENT, min_size=1, max_size=4))
def test_a_viewer_sees_no_text_of_an_agent_and_an_operator_does(content: dict[str, Any]) -> None:
    assert KEY not in repr(DIGESTS.applied(content, "viewer"))
    assert DIGESTS.applied(content, "operator") == content


@given(
    content=st.dictionaries(st.text(max_size=9) | st.sampled_from(sorted(AGENTS_TEXT)), CONTENT, max_size=4)
)
def test_hiding_again_changes_nothing(content: dict[str, Any]) -> None:
    both = Redaction(NEVER.patterns, digests=True, salt=b"salt")
    once = both.applied(content, "viewer")
    assert both.applied(once, "viewer") == once


def test_a_record_keeps_what_eddy_says_of_it() -> None:
    seen = DIGESTS.applied(RECORD, "viewer")
    assert "the shop" not in repr(seen)
    assert "step one" not in repr(seen)
    assert seen["action"]["tool_call"] == "shop"
    assert seen["action"]["status"] == "failed"
    assert seen["state_delta"]["tokens_consumed"] == 7
    assert seen["eddy"]["verdict"] == RECORD["eddy"]["verdict"]  # type: ignore[index]
    assert seen["eddy"]["events"] == RECORD["eddy"]["events"]  # type: ignore[index]
    # Equal texts stay equal, and the comparison of results does not make others so.
    assert seen["action"]["target"] == seen["state_delta"]["added_to_memory"][0]
    assert normalise_result(seen["action"]["error"]) == seen["action"]["error"]


def test_a_sentence_loses_what_it_quotes() -> None:
    content = {
        "what": "alike for 5 records: “say ”hello” to all”, tool, failed",
        "result": "accepted",
        "target": "POST /",
    }
    seen = DIGESTS.applied(content, "viewer")
    assert re.fullmatch(r"alike for 5 records: “#[g-z]{8} \(18 characters\)”, tool, failed", seen["what"])
    assert (seen["result"], seen["target"]) == ("accepted", "POST /")


@pytest.mark.parametrize("pattern", ["read_loop", "edit_revert"])
@pytest.mark.parametrize(
    "target", ["the shop", "e", "read x once more, though nothing has changed it since", "a”"]
)
def test_a_sentence_loses_what_it_names(pattern: str, target: str) -> None:
    fields = {"event_type": "drift_pattern", "phase": "alert", "pattern": pattern, "target": target}
    seen = DIGESTS.applied({"rows": [{"what": sentence(fields)}]}, "viewer")["rows"][0]["what"]
    left = re.sub(r"#[g-z]{8} \([0-9]+ characters\)", "the shop", seen)
    assert left == sentence({**fields, "target": "the shop"})
    assert left != seen


def test_a_digest_says_nothing_that_could_be_tried() -> None:
    one, other = Redaction(digests=True, salt=b"one"), Redaction(digests=True, salt=b"other")
    assert one.applied({"goal": "no"}, "viewer") != other.applied({"goal": "no"}, "viewer")


def test_forms_keep_what_they_need() -> None:
    everything = Redaction((re.compile("^[0-9a-f]+$"),))
    own = {"csrf": "5f5f", "episode_id": "648a091e5f3486a0", "session_id": "5f", "next": "5f"}
    assert everything.applied(own, "viewer") == {**own, "session_id": REDACTED}


def test_an_agent_cannot_name_a_text_so_that_it_is_shown() -> None:
    content = {"rows": [{"csrf": KEY, "command_id": [KEY], "next": KEY}]}
    assert KEY not in repr(NEVER.applied(content, "operator"))


@pytest.mark.parametrize(
    ("sees", "role", "hides"),
    [
        ("text", "viewer", False),
        ("digests", "viewer", True),
        ("digests", "operator", False),
        ("digests", "agent", True),
    ],
)
def test_the_settings_decide(sees: str, role: str, hides: bool) -> None:
    given_settings = ConsoleSettings(
        _env_file=None, console_viewer_sees=sees, console_redact=r"sk-\w+ \d{16}"
    )  # type: ignore[call-arg, arg-type]
    redaction = Redaction.of(given_settings)
    assert redaction.hides(role) == hides
    assert redaction.text("sk-1, 1234567890123456, 12") == f"{REDACTED}, {REDACTED}, 12"

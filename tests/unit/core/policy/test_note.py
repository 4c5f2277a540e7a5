"""The note to an agent: nothing that an agent wrote gets into it, unless it can be nothing but a name."""

from typing import Any

import pytest
from eddy_client.protocol import LONGEST_MESSAGE
from hypothesis import given
from hypothesis import strategies as st

from streams.core.detectors.verdict.settings import RULES
from streams.core.policy.note import note_of

TEXTS = st.text(max_size=80)


def alert(rule: str = "R1", tools: Any = (), count: int = 4, period: int | None = 2) -> dict[str, Any]:
    return {"rule": rule, "tools": list(tools), "count": count, "period": period}


@given(st.sampled_from([*RULES, "R99"]), st.lists(TEXTS | st.none(), max_size=9), st.integers(0, 10**9))
def test_names_of_tools_change_nothing_unless_they_may(
    rule: str, tools: list[str | None], count: int
) -> None:
    assert note_of(alert(rule, tools, count)) == note_of(alert(rule, (), count))


def test_an_agent_that_waits_is_not_told_that_the_result_will_never_change() -> None:
    assert "another time will not change the result" in note_of(alert("R1"))
    waiting = note_of(alert("R9"))
    assert "wait longer" in waiting
    assert "will not change" not in waiting


@given(st.lists(TEXTS, max_size=30))
def test_what_looks_like_no_name_stays_out_and_the_note_short(tools: list[str]) -> None:
    note = note_of(alert(tools=tools), quote_tools=True)
    assert len(note) < LONGEST_MESSAGE
    assert all(each.isascii() for each in note)
    assert not any(each in note for each in ("\n", "`", "<", '"'))


@pytest.mark.parametrize("rule", [*RULES, "R99"])
def test_every_rule_has_words_of_its_own_or_those_for_any(rule: str) -> None:
    note = note_of(alert(rule, ["Bash", "Bash", "mcp__files.read"]), quote_tools=True)
    assert "(Bash, mcp__files.read)" in note
    assert note.startswith("This session seems to go in circles: you")


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("tokens_per_minute", "you use 1,500 tokens a minute, and 1,000 are the limit"),
        ("cost", "this session has cost 1,500.00, and 1,000.00 is the limit"),
        ("kind", "you have used 1,500 tokens, and tasks of this kind take far less"),
        ("of a later version", "this session spends more than it may"),
    ],
)
def test_who_overspends_is_told_how_much_and_not_that_it_goes_in_circles(rule: str, said: str) -> None:
    fields = {"event_type": "overspending", "rule": rule, "spent": 1_500.0, "limit": 1_000.0}
    note = note_of(fields, quote_tools=True)
    assert note.startswith(f"This session spends too much: {said}. Look at what is still needed")
    assert "circles" not in note

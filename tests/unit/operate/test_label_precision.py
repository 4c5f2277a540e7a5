"""How often alerts were right, and what is proposed."""

from __future__ import annotations

from streams.control.label import Label
from streams.operate.label_precision import FEWEST_FOR_A_PROPOSAL, precision, to_exempt


def label(number: int, word: str, *tools: str, rule: str | None = "R1", agent: str | None = "a") -> Label:
    return Label(
        subject=f"e-{number}",
        session_id=f"s-{number}",
        label=word,
        at=1,
        who="kim",
        agent_id=agent,
        rule=rule,
        tools=tools,
    )


def test_the_share_that_was_right_by_rule_agent_and_tool() -> None:
    labels = [
        label(1, "loop", "Bash"),
        label(2, "not_a_loop", "Bash", "Read"),
        label(3, "not_a_loop", "Read", rule="R7"),
        label(4, "loop", rule=None, agent=None),
    ]
    found = {(row.by, row.name): (row.right, row.labelled) for row in precision(labels)}
    assert found == {
        ("all", ""): (2, 4),
        ("rule", "R1"): (1, 2),
        ("rule", "R7"): (0, 1),
        ("rule", "unknown"): (1, 1),
        ("agent", "a"): (1, 3),
        ("agent", "unknown"): (1, 1),
        ("tool", "Bash"): (1, 2),
        ("tool", "Read"): (0, 2),
        ("tool", "unknown"): (1, 1),
    }
    assert [round(end, 2) for end in precision(labels)[0].interval or ()] == [0.15, 0.85]


def test_a_tool_that_was_only_ever_wrong_is_proposed_once_that_was_said_often_enough() -> None:
    wrong = [label(number, "not_a_loop", "Poll") for number in range(FEWEST_FOR_A_PROPOSAL)]
    assert to_exempt(wrong) == ("poll",)
    assert to_exempt(wrong[1:]) == ()
    assert to_exempt([*wrong[1:], label(99, "not_a_loop", "POLL")]) == ("poll",)


def test_a_tool_that_was_right_once_is_not_proposed() -> None:
    wrong = [label(number, "not_a_loop", "Poll") for number in range(20)]
    assert to_exempt([*wrong, label(99, "loop", "Bash", "poll")]) == ()


def test_an_alert_about_several_tools_says_nothing_about_one() -> None:
    assert to_exempt([label(number, "not_a_loop", "Poll", "Bash") for number in range(20)]) == ()

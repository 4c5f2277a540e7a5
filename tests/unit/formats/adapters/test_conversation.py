"""What a conversation keeps for the next record: rounds, people, tokens."""

from typing import Any

import orjson
import pytest

from streams.core.entry import Entry
from streams.formats.adapters.adapter import Problem
from streams.formats.adapters.conversation import ContextChange, Conversation, UserTurn, asked


@pytest.fixture
def conversation() -> Conversation:
    return Conversation("s", "a", "a")


def ids(found: list[Entry | Problem]) -> list[Any]:
    return [each.detail if isinstance(each, Problem) else (each.value or {})["event_id"] for each in found]


def ask_for(conversation: Conversation, *calls: str, round_id: str | None = "m") -> list[Entry | Problem]:
    return [each for call in calls for each in conversation.call(call, "t", {"q": call}, round_id=round_id)]


def test_results_of_a_round_come_in_the_order_in_which_they_were_asked_for(
    conversation: Conversation,
) -> None:
    ask_for(conversation, "c1", "c2", "c3")
    assert ids([*conversation.answer("c3", "x", 1)]) == []
    assert ids([*conversation.answer("c2", "x", 2)]) == []
    assert ids([*conversation.answer("c1", "x", 3)]) == ["c1", "c2", "c3"]


def test_calls_without_a_round_come_when_their_results_do(conversation: Conversation) -> None:
    ask_for(conversation, "c1", "c2", round_id=None)
    assert ids([*conversation.answer("c2", "x", 1)]) == ["c2"]


def test_what_waits_survives_a_restart_and_comes_at_the_end(conversation: Conversation) -> None:
    ask_for(conversation, "c1", "c2")
    assert ids([*conversation.answer("c2", "x", 1)]) == []
    again = Conversation.thawed(orjson.loads(orjson.dumps(conversation.frozen())))
    assert again == conversation
    assert ids([*again.unanswered()]) == ["t, call c1", "c2"]


def test_a_second_result_of_a_call_that_waits_is_an_orphan(conversation: Conversation) -> None:
    ask_for(conversation, "c1", "c2")
    assert [*conversation.answer("c2", "x", 1)] == []
    assert ids([*conversation.answer("c2", "y", 2)]) == ["no call c2"]


def test_a_running_sum_that_falls_has_begun_again(conversation: Conversation) -> None:
    for total, cached in ((100, 40), (150, 90), (30, 10)):
        conversation.spend_sum(total, cached)
    assert (conversation.tokens, conversation.cached) == (150 + 30, 90 + 10)


def test_a_message_that_is_reported_again_counts_once(conversation: Conversation) -> None:
    for tokens, cached in ((10, 5), (12, 5)):
        conversation.spend(tokens, "m", cached)
    assert (conversation.tokens, conversation.cached) == (12, 5)


def test_an_act_of_a_person_counts_more_than_words(conversation: Conversation) -> None:
    conversation.ask("Go")
    conversation.person(UserTurn.INTERRUPTION)
    conversation.ask("Not so")
    conversation.change_context(ContextChange.RESUMED)
    ask_for(conversation, "c1", round_id=None)
    [found] = conversation.answer("c1", "x", 1)
    assert isinstance(found, Entry)
    assert found.value is not None
    assert found.value["meta"]["user_turn"] == "interruption"
    assert found.value["meta"]["context_change"] == "resumed"


def test_a_person_before_a_call_without_a_result_stands_before_the_next_step(
    conversation: Conversation,
) -> None:
    conversation.ask("Go")
    ask_for(conversation, "c1", round_id=None)
    [*_] = conversation.unanswered()
    ask_for(conversation, "c2", round_id=None)
    [found] = conversation.answer("c2", "x", 1)
    assert isinstance(found, Entry)
    assert found.value is not None
    assert found.value["meta"]["user_turn"] == "task"


@pytest.mark.parametrize(
    "text",
    [
        "/clear",
        "/review main --fast",
        "<command-name>/clear</command-name>\n<command-message>clear</command-message>",
        "<local-command-stdout>done</local-command-stdout>",
        "<system-reminder>Be brief.</system-reminder>",
        "<environment_context><cwd>/x</cwd></environment_context>",
        "# AGENTS.md instructions for /x",
        "<system-reminder>cut off in the mid",
        "  \n ",
    ],
)
def test_what_a_program_wrote_is_asked_by_nobody(text: str) -> None:
    assert asked(text) is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Fix the cart", "Fix the cart"),
        ("Fix /etc/hosts please", "Fix /etc/hosts please"),
        ("/etc/hosts is wrong,\nmend it", "/etc/hosts is wrong,\nmend it"),
        ("<ide_opened_file>a.py</ide_opened_file>\nRename it", "Rename it"),
        ("<task>\nRename it\n</task>", "Rename it"),
        ("Is a < b?", "Is a < b?"),
        ("# Context from my IDE setup:\n\n## Open tabs:\n- a\n\n## My request for Codex:\nGo on", "Go on"),
    ],
)
def test_words_of_a_person_are_left_without_what_stands_around_them(text: str, words: str) -> None:
    assert asked(text) == words


def test_a_long_text_of_open_tags_is_read_in_linear_time() -> None:
    assert asked("<ide_x>" * 100_000) is None

"""What a person asked, and what programs write in the user's place."""

import pytest

from streams.formats.adapters.user_words import asked


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

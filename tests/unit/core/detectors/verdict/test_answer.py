"""What an answer says about its step (specification 6.6, 6.6b)."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streams.core.detectors.verdict.act import Act
from streams.core.detectors.verdict.answer import (
    Failure,
    confirms,
    failure_of,
    found_nothing,
    has_new_output,
    is_denial,
    is_infrastructure,
    tells_to_wait,
)


@pytest.mark.parametrize(
    ("text", "failure"),
    [
        ("Answer questions?", Failure.ABSENT),
        ("no human is available", Failure.ABSENT),
        ("cannot ask the user in this mode", Failure.ABSENT),
        ("Cancelled: sibling tool call errored", Failure.CANCELLED),
        ("String to replace not found in file", Failure.PATCH),
        ("error: patch failed: a.py:3", Failure.PATCH),
        ("Failed to find expected lines", Failure.PATCH),
        ("Error: No such tool available: Fly", Failure.MISSING),
        ("the tool x does not exist", Failure.MISSING),
        ("bash: /etc/x: Permission denied", Failure.REFUSED),
        ("PreToolUse hook blocked it", Failure.REFUSED),
        ("EACCES: x", Failure.REFUSED),
        ("this command requires approval", Failure.REFUSED),
        ("1 failed, 3 passed", Failure.OTHER),
        ("", Failure.OTHER),
    ],
)
def test_a_failure_is_classed_by_its_words(text: str, failure: Failure) -> None:
    assert failure_of(text) is failure


def test_the_first_class_that_fits_is_taken() -> None:
    assert failure_of("no user is available: permission denied") is Failure.ABSENT


def test_a_phrase_of_ones_own_is_a_refusal_before_any_class() -> None:
    assert failure_of("The BUTLER objects: cancelled", ("butler objects",)) is Failure.REFUSED


def test_the_first_thousand_characters_count() -> None:
    assert failure_of("x" * 980 + " not permitted") is Failure.REFUSED
    assert failure_of("x" * 990 + " not permitted") is Failure.OTHER


@pytest.mark.parametrize(
    ("text", "denied"),
    [
        ("Denied", True),
        ("  ** Permission denied: x", True),
        ("not authorized to do this", True),
        ("it was denied", False),
        ("blocked " + "x" * 392, True),
        ("blocked " + "x" * 393, False),
        ("", False),
    ],
)
def test_a_denial_is_a_short_answer_that_begins_with_its_word(text: str, denied: bool) -> None:
    assert is_denial(text) is denied


@pytest.mark.parametrize(
    "text",
    [
        "still running",
        "Wait timed out",
        "no new output",
        "not yet ready",
        "pending",
        "<status>running</status>",
    ],
)
def test_a_short_answer_that_something_still_runs_tells_to_wait(text: str) -> None:
    assert tells_to_wait(text, Act.UNKNOWN)
    assert not tells_to_wait(text, Act.ACTS)
    assert not tells_to_wait(text, Act.SAYS)
    assert not tells_to_wait(text + " " * 400, Act.ASKS)
    assert not has_new_output(text)


def test_something_that_was_started_in_the_background_tells_to_wait_unless_it_was_asked() -> None:
    text = "Command running in background with ID: 7. " + "x" * 1000
    assert [act for act in Act if tells_to_wait(text, act)] == [Act.ACTS, Act.WAITS, Act.IDLES, Act.UNKNOWN]
    assert not has_new_output(text)


def test_any_other_answer_is_new_output_and_none_is_not() -> None:
    assert has_new_output("compiled module alpha")
    assert not has_new_output("")


@pytest.mark.parametrize(
    ("text", "nothing"),
    [
        ("", True),
        ("No matches found", True),
        ("0 results for that", True),
        ("null", True),
        ("{}", True),
        ("(no output)", True),
        ("Found 0 errors in 3 files", True),
        ("no room", False),
        ("0 results, but here is what others looked for today", False),
        ("nothing", False),
    ],
)
def test_an_answer_that_there_is_nothing(text: str, nothing: bool) -> None:
    assert found_nothing(text) is nothing


@pytest.mark.parametrize(
    ("news", "confirmed"),
    [("", True), ("row 7", True), ("the page was saved", True), ("the page moves", False)],
)
def test_an_action_is_confirmed_by_one_word_or_by_saying_little(news: str, confirmed: bool) -> None:
    assert confirms(news.split()) is confirmed


# specification 3.4, to the letter.
PATTERNS = [
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"^\W*(?:429|50[0-4]|52\d)\b",
        r"\b(?:http|https|status|code|error|response)\W{0,3}(?:code|status|error)?\W{0,3}(?:429|50[0-4]|52\d)\b",
        (
            r"too many requests|rate.?limit|overloaded|service unavailable|bad gateway|gateway time-?out"
            r"|temporarily unavailable"
        ),
        r"^\W*(?:error\W+)?time(?:d |-)?out\b",
        (
            r"\b(?:request|connection|connect|read|network|socket|upstream|server|api|llm|model)\b\W{0,3}"
            r"(?:has |have )?time(?:d |-)?out\b"
        ),
        r"connection (?:reset|refused|aborted|closed)|ECONNRESET|ECONNREFUSED|ETIMEDOUT",
    )
]


def as_specified(text: str) -> bool:
    return any(pattern.search(text[:200]) for pattern in PATTERNS)


PIECES = [
    *("429", "500", "503", "504", "505", "520", "52٣", "x", "é", " ", "-", "_", ":", "\n", "line "),
    *("http", "HTTP ", "status", "code", "error", "Error: ", "response", "ſtatuſ"),
    *("too many requests", "rate", "limit", "lİmit", "overloaded", "service ", "unavailable", "bad gateway"),
    *("gateway ", "timeout", "time", "out", "timed ", "has ", "tİmeout", "tımeout", "ſ", "İ", "ı", "\u212a"),
    *("request", "connection ", "connect", "read", "network", "networ\u212a", "socket", "upstream", "server"),
    *(
        "api",
        "llm",
        "model",
        "reset",
        "refused",
        "aborted",
        "closed",
        "econnreset",
        "ETIMEDOUT",
        "econnreſet",
    ),
]
FRAGMENTS = st.lists(st.sampled_from(PIECES), max_size=8).map("".join)


@settings(max_examples=300)
@given(FRAGMENTS | FRAGMENTS.map(lambda text: "x" * 190 + text))
def test_does_what_the_patterns_say(text):
    assert is_infrastructure("failure", text) == as_specified(text)


ROAD = [
    "429 rate limited",
    "HTTP 503 Service Unavailable",
    "request failed with status code: 502",
    "the model timed out",
    "network timeout",
    "Timeout",
    "[Time-out]",
    "error: timed out",
    "too many requests",
    "Connection reset by peer",
    "connect ECONNREFUSED 127.0.0.1:80",
]


@pytest.mark.parametrize("text", ROAD)
def test_failures_of_the_road(text):
    assert is_infrastructure("failure", text)


def test_letters_that_only_ignoring_case_takes_for_ascii_count_as_in_the_patterns():
    letters = re.compile("[a-z]", re.IGNORECASE)
    foreign = [chr(code) for code in range(128, 0x110000) if letters.match(chr(code))]
    assert foreign
    for character in foreign:
        for letter in "iks":
            for text in ROAD:
                disguised = text.lower().replace(letter, character)
                assert is_infrastructure("failure", disguised) == as_specified(disguised)


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "HTTP 404",
        "AssertionError: 500 != 200",
        "line 500: syntax error",
        "exitcode: 124 (execution failed) Timeout",
        "x" * 200 + " 429 rate limited",
    ],
)
def test_failures_of_the_agent(text):
    assert not is_infrastructure("failure", text)


@pytest.mark.parametrize("status", ["success", "pending", "skipped"])
def test_only_a_failure_can_be_one(status):
    assert not is_infrastructure(status, "429 rate limited")

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streams.core.domain.infrastructure import is_infrastructure

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

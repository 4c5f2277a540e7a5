"""No text makes a regular expression slow: what an attacker repeats costs its length, not a power of it."""

import time
from itertools import product

import pytest

from streams.core.detectors.verdict.answer import is_infrastructure
from streams.core.domain.text.glob import MOST_SEARCHED, Globs
from streams.core.domain.text.marks import words
from streams.core.domain.text.result_text import normalise_result
from streams.core.domain.tool_class import grouping
from streams.formats.trajectory import decision_log

# What begins a match, what can be repeated inside of it, what lets it fail at the end.
BEGINNINGS = [
    "",
    "\x1b[",
    "0",
    "0x",
    "a.a:",
    "line ",
    "In [",
    "/tmp/",
    "00:00:00.",
    "0000-00-00 00:00:00,",
    "1.",
]
REPEATED = [
    "0",
    "a",
    "f0",
    ".",
    ":0",
    ".a:0",
    "0.0",
    "0 ",
    "\x1b[",
    "\x1b[0;",
    "0x",
    "/tmp/",
    "-",
    "line 0",
    "In [0",
    "é",
]
ENDS = ["", "_", "x", " ", "]", ":", "\x1b"]
# Thousands of calls; where one is quadratic in its 4,000 characters, they take minutes.
MOST_SECONDS = 10.0


def seconds(function, texts):
    before = time.thread_time()
    for text in texts:
        function(text)
    return time.thread_time() - before


def hostile(length):
    for beginning, repeated, end in product(BEGINNINGS, REPEATED, ENDS):
        times = (length - len(beginning) - len(end)) // len(repeated)
        yield beginning + repeated * times + end


def test_normalising_a_result():
    assert seconds(normalise_result, hostile(4000)) < MOST_SECONDS


def test_cutting_a_text_into_words():
    assert seconds(words, hostile(4000)) < MOST_SECONDS


@pytest.mark.parametrize(
    "repeated", ["error ", "!", "status code ", "error!!!", "time", "connection ", "50", "model   ", "rate"]
)
def test_recognising_an_infrastructure_error(repeated):
    text = (repeated * 200)[:150] + " timeou timed out_ 429_ 52"
    assert seconds(lambda text: is_infrastructure("failure", text), [text] * 1000) < MOST_SECONDS


@pytest.mark.parametrize(
    "glob", ["*a*a*a*a*a*a*a*b", "?*?*?*?*?*?*b", "*[a-z]*[a-z]*[a-z]*b", "*" * 1000 + "b"]
)
def test_comparing_the_longest_name_with_a_pattern(glob):
    name = "a" * 1_000_000
    assert seconds(Globs((glob,)).match, [name]) < MOST_SECONDS


def test_comparing_a_long_name_with_as_many_sets_as_a_setting_may_have():
    globs = Globs(["*" + "[ab]" * (MOST_SEARCHED // 4 - 1) + "c"])
    assert seconds(globs.match, ["a" * 100_000]) < MOST_SECONDS


@pytest.mark.parametrize("glob", ["*{}", "{}*", "t{}", "*_{}", "tool_{}*"])
def test_reading_and_trying_as_many_patterns_as_a_document_can_hold(glob):
    globs = [glob.format(number) for number in range(30_000)]
    assert seconds(lambda name: Globs(globs).match(name), ["tool_x" * 30]) < MOST_SECONDS


def test_one_pattern_of_stars_as_long_as_a_document():
    assert seconds(lambda name: Globs(["*a" * 120_000]).match(name), ["a" * 1_000_000]) < MOST_SECONDS


@pytest.mark.parametrize("name", ["v1" * 500_000, "v" + "1" * 999_999 + "x", "_v-" * 333_333])
def test_grouping_the_longest_name(name):
    assert seconds(grouping(()), [name]) < MOST_SECONDS


@pytest.mark.parametrize(
    "arguments",
    ['open "' + "a" * 999_990, "open " + " " * 999_990, " " * 999_990 + "open", "open 'a\" " + "'" * 999_000],
)
def test_finding_the_file_in_the_longest_command(arguments):
    event = {"session_id": "s", "agent_id": "a", "tool_call": "open", "arguments": arguments}
    assert seconds(decision_log, [event]) < MOST_SECONDS

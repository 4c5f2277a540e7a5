import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from streams.core.domain.text.result_text import normalise_result

# specification 3.2, to the letter: the patterns in their order and what each match becomes.
PATTERNS = [
    (re.compile(pattern, re.IGNORECASE | re.ASCII), replacement)
    for pattern, replacement in (
        (r"\x1b\[[0-9;?]*[A-Za-z]", ""),
        (r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", "<uuid>"),
        (r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?", "<time>"),
        (r"\b\d\d:\d\d:\d\d(?:[.,]\d+)?\b", "<time>"),
        (r"(?:/private)?/(?:tmp|var/tmp|var/folders)/[^\s'\":,;()\[\]]+", "<tmp>"),
        (r"\b0x[0-9a-f]+\b", "<hex>"),
        (r"\b(?=[0-9a-f]*[0-9])(?=[0-9a-f]*[a-f])[0-9a-f]{8,}\b", "<hex>"),
        (r"\bline \d+(?=[:,])", "line <n>"),
        (r"\bIn ?\[\d+\]", "In[<n>]"),
        (r"(\.[a-z]{1,6}):\d+(?::\d+)?\b", r"\1:<n>"),
        (r"\b(?:\d+\.\d+ ?(?:ms|s|secs?|seconds?)|\d+ ?ms)\b", "<dur>"),
    )
]


def as_specified(text: str) -> str:
    text = text[:4000]
    for pattern, replacement in PATTERNS:
        text = pattern.sub(replacement, text)
    return " ".join(text.split())


PIECES = [
    *("123e4567-e89b-12d3-a456-426614174000", "ABCDEFAB-abcd-abcd-abcd-abcdefabcdef", "123e4567-e89b", "-"),
    *(
        "2026-04-01T17:30",
        "2026-04-01 17:30:01.096Z",
        "2026-04-01t17:30:01,5+02:00",
        "-0200",
        "2024-05-13",
        "z",
    ),
    *("12:30:45", "12:30:45.123", ":30", ",5", "1:12:30:45"),
    *("/tmp/", "/private", "/private/", "/var/tmp/x", "/VAR/folders/zz", "/Tmp/é", "/tmp", "tmp/", "/var/"),
    *("0x", "0X7f", "0x7fFA10", "1x5", "00x1", "x", "0"),
    *("deadbeef", "3f2a9c1b77aa", "12345678", "1234567f", "A1", "fF", "g", "_"),
    *("line ", "LINE 12", "line 17,", "lıne 5:", "Line 3", "pipeline 4:", ":", ","),
    *("In[3]", "in [12]", "In ", "In  [1]", "Bin[1]", "[", "]", "[0]"),
    *(".py", ".py:12", ".py:12:5", ".abcdefg:1", ".p:1x", ":5", "."),
    *(
        "0.12s",
        "35 ms",
        "3ms",
        "1.5 secs",
        "1.2 SECONDS",
        "2.5 second",
        "1.2.3s",
        "1.5 ſ",
        "s",
        "ms",
        "sec",
        "9",
    ),
    *("\x1b[31m", "\x1b[", "\x1b", "m", "\x1b[?25l", "\x1b[0;1K"),
    *(" ", "  ", "\n", "\t", "\r\n", "\n\n", "\u00a0", "\u2028", "\x1c", "\x0b", "\x85"),
    *(
        "\u212a",
        "ſ",
        "İ",
        "ı",
        "٣",
        "é",
        "读",
        "😀",
        "'",
        '"',
        "(",
        ")",
        ";",
        "?",
        "<n>",
        "<hex>",
        "e",
        "T",
        "Z",
    ),
]
LIKELY = st.lists(st.sampled_from(PIECES), max_size=14).map("".join)
DENSE = st.one_of(
    *(
        st.text(alphabet, max_size=30)
        for alphabet in (
            "0a:. -ms",
            "012af-x_ ",
            "line 0:,\n",
            "In [0]",
            "/tmpvar0fd 'x",
            "0.:, second",
            "\x1b[0;?m1:",
        )
    )
)
LONG = st.tuples(st.integers(3980, 4000), LIKELY).map(lambda long: "a" * long[0] + long[1])


@settings(max_examples=300)
@given(LIKELY | DENSE | LONG | st.text())
@example("1x5f at 0x5f")
@example("line 3\u2028: In [3]")
@example("\u212a12 ms 12 mſ")
@example("12:30:\x1b[0m45 and 1234-1234-1234")
@example("a" * 3990 + " line 17: x")
def test_does_what_the_patterns_say(text):
    assert normalise_result(text) == as_specified(text)


@pytest.mark.parametrize(
    ("text", "normalised"),
    [
        ("/bin/bash: line 17871: cd: x", "/bin/bash: line <n>: cd: x"),
        ("1 failed in 0.12s", "1 failed in <dur>"),
        ("src/a.py:12:5: E501", "src/a.py:<n>: E501"),
        ("object at 0x7fFA10, id 3f2a9c1b77aa", "object at <hex>, id <hex>"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("id 123E4567-e89b-12d3-a456-426614174000 x", "id <uuid> x"),
        ("at 2026-04-01T17:30:01.096Z ok", "at <time> ok"),
        ("12:30:45 start", "<time> start"),
        ("open /tmp/abc12/x.py failed", "open <tmp> failed"),
        ("/private/var/folders/zz/T/f1: no", "<tmp>: no"),
        ("Cell in [3], x", "Cell In[<n>], x"),
        ("took 35 ms", "took <dur>"),
        ("  a\r\n\tb\u00a0 ", "a b"),
        ("", ""),
        (None, None),
    ],
)
def test_what_differs_each_time_gives_way(text, normalised):
    assert normalise_result(text) == normalised


@pytest.mark.parametrize(
    "text",
    [
        "9 failed, 1 passed",
        "read line 7",
        "running (30s)",
        "localhost:8080",
        "on 2024-05-13",
        "deadbeef",
        "order 12345678",
        "progress:50",
        "/tmpfile and /var/log/x",
        "0x and 12x34",
    ],
)
def test_plain_numbers_and_words_stay(text):
    assert normalise_result(text) == text


@pytest.mark.parametrize("text", ["12 mſ", "\u212a.p\u212a:3", "lıne 3:", "٣٣:٣٣:٣٣"])
def test_only_ascii_letters_and_digits_match(text):
    assert normalise_result(text) == text


def test_only_the_first_4000_characters_count():
    assert normalise_result("a" * 5000) == "a" * 4000


@pytest.mark.parametrize(
    ("text", "once", "twice"),
    [
        ("took 9\nms", "took 9 ms", "took <dur>"),
        ("\x1b[\x1b[0m1m", "\x1b[1m", ""),
        ("2026-04-01T17:302026-04-01T17:30", "<time>2026-04-01T17:30", "<time><time>"),
    ],
)
def test_what_a_replacement_leaves_may_be_replaced_another_time(text, once, twice):
    assert normalise_result(text) == once
    assert normalise_result(once) == twice

"""What agents and tools wrote: text functions, held against the words of their specification."""

from __future__ import annotations

import re
from collections.abc import Iterable

from streams.core.detectors.verdict.answer import is_infrastructure
from streams.core.domain.text.canonical import canonical
from streams.core.domain.text.digest import digest
from streams.core.domain.text.marks import Marks, words
from streams.core.domain.text.result_text import normalise_result
from tests.fuzz.target import Target
from tests.unit.core.detectors.verdict.test_answer import as_specified
from tests.unit.core.domain.text import test_canonical, test_result_text


def _text(data: bytes) -> str:
    """Text with everything Python can hold, lone surrogates included."""
    if data[:1] == b"\x00":
        return data[1:].decode("utf-16-le", "surrogatepass" if len(data) % 2 else "replace")
    return data.decode("utf-8", "replace")


def attack_result(data: bytes) -> None:
    """Results are normalised, cut into words and classed as the specification says."""
    text = _text(data)
    normalised = normalise_result(text)
    assert normalised == test_result_text.as_specified(text)
    assert set(words(text)) == set(re.findall(r"[^\W_]+", text[:4000].lower()))
    assert is_infrastructure("failure", text) == (text != "" and as_specified(text))
    one, other = Marks.of(words(text)), Marks.of(words(normalised))
    assert 0.0 <= one.jaccard(other) <= 1.0
    assert one.jaccard(other) == other.jaccard(one)


def attack_arguments(data: bytes) -> None:
    """Arguments have the canonical text of the specification, which is its own and can be digested."""
    text = _text(data)
    written = canonical(text)
    if text:
        assert written == test_canonical.as_specified(text)
    assert canonical(written) == written
    if not re.search("[\ud800-\udfff]", text):
        digest(written)


def _results() -> Iterable[bytes]:
    return [piece.encode("utf-8", "replace") for piece in test_result_text.PIECES] + [
        "".join(test_result_text.PIECES).encode("utf-8", "replace"),
        b"HTTP 503 Service Unavailable: connection has timed out",
        b"error code 429; gateway time-out",
        "\x00İ ſ K".encode("utf-16-le"),
    ]


def _arguments() -> Iterable[bytes]:
    return [
        b' { "b" : [ 1.0 , {"d":1E2,"c":null} ], "a":-0.0, "a":"\\ud800\\u00e9\\/" } ',
        b"[" * 101 + b"]" * 101,
        b'["' + b"x" * 600 + b'",1.0,{"b":1,"a":2e5,"c":999999999999999.5,"d":NaN,"e":1e400}]',
        b"9" * 4400,
        b'{"\xef\xac\xb3":2,"\xf0\x9f\x98\x80":1}',
        b"[" * 101 + b'"' + b'\\"' * 50,
    ]


_WORDS = (
    "line ",
    "/private/tmp/",
    "/var/folders/",
    "0x",
    "00:00:00",
    "2026-04-01T17:30",
    "timed out",
    "ECONN",
    "503",
)
RESULTS = Target("results", attack_result, _results, _WORDS)
ARGUMENTS = Target("arguments", attack_arguments, _arguments, ("null", "true", "NaN", "\\u00", "1e308", "-0"))

"""What a tool answered, without anything that differs from one run to the next."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

_USED = 4_000
_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")

# The outline of a text has one character for each of its characters: every digit is "0", letters are lower
# case, everything beyond ASCII is "?". The patterns of specification 3.2 see no more, so they find the
# same places in it, and there they can begin with a plain character, which the search is fastest at.
_OUTLINE = bytes(ord("0") if 48 <= byte < 58 else ord(chr(byte).lower()) for byte in range(128)) + bytes(128)
# The same with a to f as "0" too.
_HEX_OUTLINE = bytes(ord("0") if byte in b"0123456789abcdef" else byte for byte in range(128)) + bytes(128)
_BLANK = bytes(ord(" ") if chr(byte).isspace() else byte for byte in range(128)) + bytes(128)

_Find = Callable[[str, str], list[tuple[int, int]]]
_Note = Callable[[list[tuple[int, int]], str], None]


class _Rule(NamedTuple):
    """One replacement. Unless the outline holds one of the ``signs``, there is nothing to ``find``.

    ``find`` takes the text and its outline and gives the places to replace.
    """

    signs: tuple[str, ...]
    find: _Find
    placeholder: str


def _in_outline(pattern: str) -> _Find:
    """Find a pattern in the outline; its group, if it has one, is the place to replace."""
    compiled = re.compile(pattern, re.ASCII)
    group = compiled.groups
    return lambda _text, outline: [found.span(group) for found in compiled.finditer(outline)]


def _uuids(_text: str, outline: str) -> list[tuple[int, int]]:
    digits = _hex_outline(outline)
    return [found.span() for found in _UUID.finditer(digits)] if "-0000-0000-0000-" in digits else []


def _durations(_text: str, outline: str) -> list[tuple[int, int]]:
    # Looking for the unit behind a digit takes half as long as looking for a number, and mostly finds none.
    if _UNIT.search(outline) is None:
        return []
    return [found.span() for found in _DURATION.finditer(outline)]


def _addresses(text: str, _outline: str) -> list[tuple[int, int]]:
    # Only 0 begins an address and the outline does not distinguish it from the other digits.
    return [found.span() for found in _ADDRESS.finditer(text)]


def _hex_runs(_text: str, outline: str) -> list[tuple[int, int]]:
    digits = _hex_outline(outline)
    places = [found.span() for found in _HEX_RUN.finditer(digits)]
    runs = ((place, outline[slice(*place)]) for place in places)
    return [place for place, run in runs if "0" in run and run.strip("0")]


_UUID = re.compile(r"0(?<!\w.)0{7}-0{4}-0{4}-0{4}-0{12}\b", re.ASCII)
_ADDRESS = re.compile(r"0(?<!\w.)[xX][0-9a-fA-F]+\b", re.ASCII)
_HEX_RUN = re.compile(r"0(?<!\w.)0{7,}+\b", re.ASCII)
_UNIT = re.compile(r"0 ?m?s")
_DURATION = re.compile(r"0(?<!\w.)0*+(?:\.0++ ?(?:m?s|sec(?:ond)?s?)| ?ms)\b", re.ASCII)

# Patterns 2 to 11 of specification 3.2. `\b` before the first character is a look-behind. The unit
# test holds the patterns as they are specified and shows that these do the same.
_UUIDS = _Rule(("-",), _uuids, "<uuid>")
_TIMES = (
    _Rule(
        ("0000-00-00t00:00", "0000-00-00 00:00"),
        _in_outline(r"0(?<!\w.)000-00-00[t ]00:00(?::00(?:[.,]0+)?)?(?:z|[+-]00:?00)?"),
        "<time>",
    ),
    _Rule(("00:00:00",), _in_outline(r"0(?<!\w.)0:00:00(?:[.,]0+)?\b"), "<time>"),
)
_TEMPORARY = _Rule(
    ("/tmp/", "/var/folders/"),  # noqa: S108
    _in_outline(r"/(?:private/)?(?:tmp|var/tmp|var/folders)/[^\s'\":,;()\[\]]+"),
    "<tmp>",
)
_ADDRESSES = _Rule(("0x",), _addresses, "<hex>")
_HEX_RUNS = _Rule(("0",), _hex_runs, "<hex>")
_LINES = _Rule(("line 0",), _in_outline(r"l(?<!\w.)ine 0++(?=[:,])"), "line <n>")
_CELLS = _Rule(("[0",), _in_outline(r"i(?<!\w.)n ?\[0++\]"), "In[<n>]")
_PLACES = _Rule((":0",), _in_outline(r"\.[a-z]{1,6}(:0+(?::0+)?)\b"), ":<n>")
_DURATIONS = _Rule(("0",), _durations, "<dur>")


def _rules(outline: str) -> Iterator[_Rule]:
    """Yield, in the order of the patterns, the rules that have something to look for in a text.

    What no placeholder brings together is asked once, of the text as it was before the first replacement.
    """
    if "0" not in outline:
        yield from (_UUIDS, _TEMPORARY)
        return
    long, colon = "00000000" in _hex_outline(outline), ":0" in outline
    if long:
        yield _UUIDS
    if colon:
        yield from _TIMES
    yield _TEMPORARY
    yield _ADDRESSES
    if long:
        yield _HEX_RUNS
    yield _LINES
    if "[" in outline:
        yield _CELLS
    if colon:
        yield _PLACES
    yield _DURATIONS


def normalise_result(text: str | None) -> str | None:
    r"""Return the result text without what is different each time; None for None (specification 3.2).

    Colours, ids, times, durations, temporary paths, addresses and line numbers give way to placeholders and
    runs of whitespace to one space; plain numbers stay, because they are progress. The first 4,000 characters
    count. Not idempotent: what a replacement leaves may itself be replaced another time.

    >>> normalise_result("1 failed in 0.12s at 0x7fFA10\n  src/a.py:12:5: E501")
    '1 failed in <dur> at <hex> src/a.py:<n>: E501'
    """
    if text is None:
        return None
    return single_spaced(with_placeholders(text))


def replaced_spans(text: str) -> list[tuple[int, int, str]]:
    """Return what of a text gives way to placeholders: begin, end and placeholder, in the order of the text.

    >>> replaced_spans("took 0.12s at 0x7fFA10")
    [(5, 10, '<dur>'), (14, 22, '<hex>')]
    """
    text = text[:_USED]
    spans: list[tuple[int, int, str]] = [(*found.span(), "") for found in _ANSI.finditer(text)]
    # The place in the text as it came of each character that is left.
    origins = [at for at in range(len(text) + 1) if not any(start <= at < end for start, end, _ in spans)]

    def note(places: list[tuple[int, int]], placeholder: str) -> None:
        kept, at = list[int](), 0
        for start, end in places:
            spans.append((origins[start], origins[end - 1] + 1, placeholder))
            kept += [*origins[at:start], *[origins[start]] * len(placeholder)]
            at = end
        origins[:] = [*kept, *origins[at:]]

    with_placeholders(text, note)
    # A place that was replaced twice counts by its last replacement, which is the longer one.
    outer = [
        span
        for number, span in enumerate(spans)
        if not any(later[0] <= span[0] and span[1] <= later[1] for later in spans[number + 1 :])
    ]
    return sorted(outer)


def with_placeholders(text: str, note: _Note | None = None) -> str:
    """Return the first 4,000 characters with placeholders, the blanks as they are.

    Args:
        text: What a tool answered.
        note: Told of each replacement: the places in the text as it is by then, and the placeholder.
    """
    text = text[:_USED]
    if "\x1b[" in text:
        text = _ANSI.sub("", text)
    outline = text.encode("ascii", "replace").translate(_OUTLINE).decode("ascii")
    for signs, find, placeholder in _rules(outline):
        for sign in signs:
            if sign in outline:
                break
        else:
            continue
        if places := find(text, outline):
            if note is not None:
                note(places, placeholder)
            text = _with(placeholder, places, text)
            outline = _with(placeholder.lower(), places, outline)
    return text


def _with(placeholder: str, places: list[tuple[int, int]], text: str) -> str:
    kept = []
    at = 0
    for start, end in places:
        kept.append(text[at:start])
        at = end
    kept.append(text[at:])
    return placeholder.join(kept)


def _hex_outline(outline: str) -> str:
    return outline.encode("ascii").translate(_HEX_OUTLINE).decode("ascii")


def single_spaced(text: str) -> str:
    """Put one space for every run of blanks, none at the ends.

    Does what `" ".join(text.split())` does, sooner where no run of blanks is longer than one.
    """
    if text.isascii() and "  " not in text and "\n\n" not in text:
        spaced = text.encode("ascii").translate(_BLANK).decode("ascii")
        if "  " not in spaced:
            return spaced.strip(" ")
    return " ".join(text.split())

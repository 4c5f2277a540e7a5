"""Other people's text on a terminal: shown, never obeyed."""

from __future__ import annotations


def printable(text: str, limit: int) -> str:
    r"""One line of at most ``limit`` characters (plus escapes) that cannot move the cursor or hide anything.

    Whitespace is folded; control, bidirectional and invisible characters are written as escapes.

    >>> printable("a\n  b \x1b[2J", 40)
    'a b \\x1b[2J'
    >>> printable("a rather long intent", 8)
    'a rathe…'
    """
    line = " ".join(text[: 8 * limit].split())
    if len(line) > limit:
        line = line[: limit - 1] + "…"
    if line.isprintable():
        return line
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in line)

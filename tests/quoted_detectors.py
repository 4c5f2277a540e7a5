"""What tests quote of detectors, whichever others are registered: a new one changes no text of theirs."""

import re

from streams.core.detectors.registry import REGISTERED

QUOTED = ("uniqueness", "repeat", "patterns", "loop", "drift", "budget", "metrics", "verdict")

#: Beginnings of the names of rules, such as A3, and of the detectors that are not quoted.
_OTHERS = {each.name for each in REGISTERED if each.name not in QUOTED} | {
    family
    for each in REGISTERED
    if each.name not in QUOTED and each.rules is not None
    for family in each.rules.families
}
_LISTS = ("  at a limit ", "  near       ")


def is_quoted(name: str) -> bool:
    """Tell whether a detector, or the detector of a rule such as `A2:tool`, is one of those."""
    return name.partition(":")[0] not in _OTHERS


def quoted(text: str) -> str:
    """Return an explanation without what other detectors say in it."""
    return "".join(_line(line) for line in text.splitlines(keepends=True))


def _line(line: str) -> str:
    for head in _LISTS:
        if line.startswith(head):
            said = [
                each
                for each in line.removeprefix(head).rstrip("\n").split("; ")
                if is_quoted(each.split()[0])
            ]
            return f"{head}{'; '.join(said)}\n" if said else ""
    word = re.match(r"  (\S+)", line)
    return "" if word is not None and not is_quoted(word[1]) else line

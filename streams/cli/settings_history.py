"""The history of the detection settings: what each record of the topic changed, or why it did not."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol

from streams.cli.printable import printable
from streams.domain.detection_settings import DEFAULTS
from streams.domain.settings_document import resolve
from streams.engine.config_feed import read_document

#: What is told of a change. Anybody may write to the topic: nothing else is taken over.
_TOLD = ("at", "by", "why", "settings")

_YEAR_10000_MS = 253_402_300_800_000
_LONGEST = 80


class Record(Protocol):
    """A record of the settings topic."""

    @property
    def offset(self) -> int:
        """Where it stands."""

    @property
    def value(self) -> bytes | None:
        """The document."""


def history(records: Iterable[Record]) -> Iterator[dict[str, Any]]:
    """Yield what became of each record, oldest first, as a worker that reads them sees it.

    ``problem`` says why a record is ignored as a whole, ``refused`` which of its settings are.
    """
    in_force = DEFAULTS
    for record in records:
        try:
            version, document = read_document(record.value)
        except ValueError as error:
            yield {"offset": record.offset, "problem": str(error)}
            continue
        changed = document.get("changed")
        entry = {"offset": record.offset, "version": version}
        if isinstance(changed, dict):
            entry |= {name: changed[name] for name in _TOLD if name in changed}
        if version <= in_force.version:
            yield entry | {"problem": f"version {in_force.version} was in force already"}
            continue
        in_force, warnings = resolve(document, in_force, version)
        refused = [f"{warning.setting}: {warning.problem}" for warning in warnings]
        yield entry | ({"refused": refused} if refused else {})


def line(entry: Mapping[str, Any]) -> str:
    r"""Return an entry for people, with other people's text made safe to print.

    >>> line({"offset": 4, "version": 2, "at": 0, "by": "eve\x1b[2J", "why": "fewer pages"})
    'version 2  1970-01-01 00:00:00Z  eve\\x1b[2J  fewer pages'
    >>> line({"offset": 5, "problem": "a tombstone is no document"})
    'ignored at offset 5: a tombstone is no document'
    """
    parts = [_description(entry)] if "version" in entry else []
    if "problem" in entry:
        parts.insert(0, f"ignored at offset {entry['offset']}: {_text(entry['problem'])}")
    if "refused" in entry:
        parts.append("refused: " + "; ".join(_text(each) for each in entry["refused"]))
    return "  ".join(parts)


def _description(entry: Mapping[str, Any]) -> str:
    names = entry.get("settings")
    parts = (
        f"version {entry['version']}",
        _when(entry.get("at")),
        _text(entry.get("by", "somebody")),
        ", ".join(_text(name) for name in names) if isinstance(names, list) else "",
        _text(entry.get("why", "")),
    )
    return "  ".join(part for part in parts if part)


def _when(at: object) -> str:
    if type(at) is not int or not 0 <= at < _YEAR_10000_MS:
        return "at an unknown time"
    return time.strftime("%Y-%m-%d %H:%M:%SZ", time.gmtime(at / 1000))


def _text(value: object) -> str:
    return printable(str(value), _LONGEST)

"""The history of the detection settings: what each record of the topic changed, or why it did not."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol

from streams.core.detectors.settings import DEFAULTS
from streams.core.domain.text.printable import printable
from streams.core.settings_document import SettingWarning, follows, is_empty, resolve
from streams.kafka.settings_feed import read_document

#: What is shown of a change. Anyone may write to the topic: nothing else is taken from it.
_TOLD = ("at", "by", "why", "settings")

_YEAR_10000_MS = 253_402_300_800_000
_LONGEST = 80
_MOST_REFUSED = 20


class SettingsRecord(Protocol):
    """A record of the settings topic."""

    @property
    def offset(self) -> int:
        """Where it stands."""

    @property
    def value(self) -> bytes | None:
        """The document."""


def history(records: Iterable[SettingsRecord]) -> Iterator[dict[str, Any]]:
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
        entry = _entry(record.offset, version, document)
        if not follows(version, in_force.version):
            yield entry | {"problem": f"it does not follow version {in_force.version}, which was in force"}
            continue
        in_force, warnings = resolve(document, in_force, version)
        yield entry | _refused(warnings)


def shadow_history(records: Iterable[SettingsRecord]) -> Iterator[dict[str, Any]]:
    """Yield what became of each record of the shadow topic, as `history` for the settings.

    ``ended`` says that from there on nothing is tried out.
    """
    tried, newest = DEFAULTS, 0
    for record in records:
        if record.value is None:
            tried, newest = DEFAULTS, 0
            yield {"offset": record.offset, "ended": True}
            continue
        try:
            version, document = read_document(record.value)
        except ValueError as error:
            yield {"offset": record.offset, "problem": str(error)}
            continue
        entry = _entry(record.offset, version, document)
        if not follows(version, newest):
            yield entry | {"problem": f"it does not follow version {newest}, which there was already"}
            continue
        newest = version
        if is_empty(document):
            tried = DEFAULTS
            yield entry | {"ended": True}
            continue
        tried, warnings = resolve(document, tried, version)
        yield entry | _refused(warnings)


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
    if "ended" in entry:
        parts.append("nothing is tried out" if parts else f"offset {entry['offset']}: nothing is tried out")
    if "refused" in entry:
        parts.append("refused: " + "; ".join(_text(each) for each in entry["refused"]))
    return "  ".join(parts)


def _entry(offset: int, version: int, document: Mapping[str, Any]) -> dict[str, Any]:
    changed = document.get("changed")
    entry = {"offset": offset, "version": version}
    if isinstance(changed, dict):
        entry |= {name: changed[name] for name in _TOLD if name in changed}
    return entry


def _refused(warnings: Iterable[SettingWarning]) -> dict[str, Any]:
    refused = [f"{warning.setting}: {warning.problem}" for warning in warnings]
    if len(refused) > _MOST_REFUSED:
        refused[_MOST_REFUSED:] = [f"and {len(refused) - _MOST_REFUSED} more"]
    return {"refused": refused} if refused else {}


def _description(entry: Mapping[str, Any]) -> str:
    names = entry.get("settings")
    parts = (
        f"version {entry['version']}",
        when(entry.get("at")),
        _text(entry.get("by", "unknown")),
        ", ".join(_text(name) for name in names) if isinstance(names, list) else "",
        _text(entry.get("why", "")),
    )
    return "  ".join(part for part in parts if part)


def when(at: object) -> str:
    """Return a time in ms since 1970 as UTC; other people's, so it may be anything."""
    if type(at) is not int or not 0 <= at < _YEAR_10000_MS:
        return "at an unknown time"
    return time.strftime("%Y-%m-%d %H:%M:%SZ", time.gmtime(at / 1000))


def _text(value: object) -> str:
    return printable(str(value), _LONGEST)

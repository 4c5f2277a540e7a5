"""Recorded sessions together with what people said about them.

Three kinds of lines, in any files and any order of files: decision logs, which have an `action`; events as
in `streams.formats.trajectory`; and label lines, which have one of `LABELS`. The records of a session are in
order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from streams.core.entry import Entry, session_key
from streams.core.errors import ConfigurationError
from streams.formats import jsonl
from streams.formats.adapters.adapter import Problem
from streams.formats.input_file import open_input
from streams.formats.sources import sources
from streams.formats.trajectory import decision_log, is_timed
from streams.formats.units import InputReader

LABELS: Final = frozenset({"label_source", "stuck", "solved", "rewards"})
"""Fields that make a line a label: neither a decision log nor an event has one of them."""
_ENDINGS: Final = (".jsonl", ".jsonl.gz")


class Labelled(NamedTuple):
    """What some files hold.

    Attributes:
        entries: the records as `streams.core.offline.judge` takes them.
        labels: the label lines, each a JSON object.
        untimed: sessions with an event that has no time: their clocks are made up.
    """

    entries: list[Entry]
    labels: list[Mapping[str, Any]]
    untimed: set[str]


def read(names: Iterable[str]) -> Labelled:
    """Read files, and the JSON lines of folders in the order of their paths. All of it is held in memory.

    Raises:
        ConfigurationError: a file cannot be read to its end, or a folder has no JSON lines.
    """
    found = Labelled([], [], set())
    for name in files(names):
        with open_input(name) as stream:
            for entry in InputReader(jsonl.FORMAT, name).read(stream):
                if isinstance(entry, Problem):
                    raise ConfigurationError(f"{entry.where} is {entry.detail}. Cut the line")
                _add(found, entry)
    return found


def _add(found: Labelled, entry: Entry) -> None:
    value = entry.value
    if value is None:
        found.entries.append(entry)
    elif not LABELS.isdisjoint(value):
        found.labels.append(value)
    else:
        log = value if "action" in value else decision_log(value)
        key = session_key(log)
        if log is not value and key is not None and not is_timed(value):
            found.untimed.add(key)
        found.entries.append(Entry(key, None, log, None))


def files(names: Iterable[str]) -> Iterator[str]:
    """Put the JSON lines of a folder in its place.

    Raises:
        ConfigurationError: there are none.
    """
    for name in names:
        if not Path(name).is_dir():
            yield name
            continue
        inside = [each.path for each in sources([name]) if each.path.endswith(_ENDINGS)]
        if not inside:
            raise ConfigurationError(f"{name}: no *.jsonl or *.jsonl.gz in it. Name labelled files")
        yield from inside

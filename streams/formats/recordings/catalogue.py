"""What each recording shows and what Eddy finds in it by default; all of them as the messages of a topic."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any, Final

from streams.core.entry import Entry
from streams.formats import jsonl, recorded_messages
from streams.formats.reading import TopicMessage, entries, message


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """One recorded file.

    Attributes:
        name: name of the file, without its ending.
        shows: what happens in it, for people.
        goes_in_circles: the truth about it, as a person sees it.
        findings: what is told today under the default settings: ``loop_episode`` (the verdict, at WARNING or
            LOOP), ``entropy_alert``, ``divergence_suspected``, or the pattern of a ``drift_pattern``. Where
            this disagrees with ``goes_in_circles``, ``shows`` says why.
        records: how many messages it has, ``rejected`` ones included.
        rejected: how many of them break the contract.
    """

    name: str
    shows: str
    goes_in_circles: bool
    findings: frozenset[str]
    records: int
    rejected: int = 0
    input_format: str = jsonl.FORMAT.name

    @property
    def path(self) -> Path:
        """The file."""
        return Path(__file__).parent / f"{self.name}.jsonl"


def _healthy(name: str, records: int, shows: str, *findings: str) -> Recording:
    return Recording(
        name=name, shows=shows, goes_in_circles=False, findings=frozenset(findings), records=records
    )


def _circular(name: str, records: int, shows: str, *findings: str) -> Recording:
    return Recording(
        name=name, shows=shows, goes_in_circles=True, findings=frozenset(findings), records=records
    )


RECORDINGS: Final = (
    _healthy("healthy_bugfix", 31, "A coding agent finds and fixes a bug, tests first."),
    _healthy("healthy_feature", 30, "A coding agent adds an endpoint and a button, with other tools."),
    _healthy(
        "healthy_refactor",
        30,
        "A coding agent splits a module. It reads three different files in a row: the repeat rule looks at "
        "the name of the tool alone and suspects that, which is a false alarm.",
        "divergence_suspected",
    ),
    _healthy("healthy_upgrade", 26, "A coding agent upgrades a library and repairs service after service."),
    _healthy("healthy_research", 25, "A research agent searches, reads, notes and writes one page."),
    _healthy("healthy_analysis", 26, "An analyst agent narrows a drop in sales down to its two causes."),
    _circular(
        "edit_test_loop",
        23,
        "A coding agent changes the rounding again and again; the same test fails with the same error. Each "
        "edit is a new one, so the verdict stays calm: work towards a fix looks the same for a while.",
        "test_fail_loop",
    ),
    _circular(
        "read_loop",
        18,
        "A coding agent reads one unchanged file over and over instead of following the hint in it.",
        "loop_episode",
        "entropy_alert",
        "divergence_suspected",
        "read_loop",
    ),
    _circular(
        "flip_flop",
        23,
        "A coding agent removes an import and puts it back, A-B-A-B: each of two errors leads to the other.",
        "loop_episode",
        "edit_revert",
    ),
    _circular(
        "same_call",
        18,
        "A support agent repeats one search that finds nothing, nine times, then finds its way out.",
        "loop_episode",
        "entropy_alert",
        "divergence_suspected",
    ),
    _circular(
        "paraphrased_loop",
        15,
        "A research agent rewords one search thirteen times and gets the same three rows. Every step differs "
        "in its words; that the result never does gives it away.",
        "loop_episode",
        "divergence_suspected",
    ),
    _healthy("polling", 17, "An operator agent waits for a rollout and looks at it every 75 s or so."),
    _healthy(
        "rate_limit_retry", 19, "An operator agent is rate limited, backs off as it should and goes on."
    ),
    Recording(
        name="broken",
        shows="A good session among messages that break the contract in fourteen ways; two are odd but fine.",
        goes_in_circles=False,
        findings=frozenset(),
        records=24,
        rejected=14,
        input_format=recorded_messages.FORMAT.name,
    ),
)
"""Every recording, in the order of the documentation."""


def messages(
    recordings: Iterable[Recording] = RECORDINGS, *, first_timestamp: int | None = None
) -> Iterator[TopicMessage]:
    """Every message of the recordings, interleaved by time: the sessions run side by side, as in production.

    The order is the same each time. The timestamp of a message is the one recorded with it, else that of
    its record.

    Args:
        recordings: the recordings to interleave.
        first_timestamp: when the first message is sent, ms since 1970; all times, those within the records
            too, move with it. None keeps the recorded times.
    """
    timed = [_timed(entries([str(recording.path)], recording.input_format)) for recording in recordings]
    shift: int | None = None if first_timestamp is not None else 0
    for timestamp, entry in heapq.merge(*timed, key=itemgetter(0)):
        if shift is None:
            shift = (first_timestamp or 0) - timestamp
        yield message(_moved(entry, timestamp, shift))


def _timed(recorded: Iterable[Entry]) -> Iterator[tuple[int, Entry]]:
    """Each entry with its time; one that tells none happened when the one before it did."""
    now = 0
    for entry in recorded:
        reported = _meta(entry.value).get("timestamp") if entry.timestamp is None else entry.timestamp
        now = reported if isinstance(reported, int) else now
        yield now, entry


def _moved(entry: Entry, timestamp: int, shift: int) -> Entry:
    reported = _meta(entry.value).get("timestamp")
    if entry.value is None or not shift or not isinstance(reported, int):
        return entry._replace(timestamp=timestamp + shift)
    meta = {**_meta(entry.value), "timestamp": reported + shift}
    return entry._replace(timestamp=timestamp + shift, value={**entry.value, "meta": meta}, raw=None)


def _meta(value: Mapping[str, Any] | None) -> Mapping[str, Any]:
    meta = (value or {}).get("meta")
    return meta if isinstance(meta, dict) else {}

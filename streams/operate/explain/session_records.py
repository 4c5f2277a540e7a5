"""The records of one session: in files, and from what was written of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, Final

from streams.core.detectors.settings import DEFAULTS, DetectionSettings
from streams.core.domain.decision import Decision
from streams.core.domain.event_kind import EventKind
from streams.core.domain.outcome import Event, Rejected, Scored
from streams.core.domain.record import Record
from streams.core.domain.session import Session
from streams.core.domain.text.printable import printable
from streams.core.entry import Entry
from streams.core.errors import ConfigurationError
from streams.core.offline import PARTITION, Judgement, unreadable
from streams.core.pipeline import admit, step
from streams.core.policy.routing import topic_of

MOST_REMEMBERED: Final = 100_000
_NEAREST: Final = 5


@dataclass(slots=True)
class SessionFile:
    """Judges the records of one session in files, as `streams.core.offline.judge` judges those of all.

    Attributes:
        session_id: id of the session to judge.
        settings: detection settings to judge the records under.
        state: the session after the last record, None before the first.
        others: ids of sessions seen, so that one that is not there can be told from one that is misspelt.
    """

    session_id: str
    settings: DetectionSettings
    state: Session | None = None
    others: set[str] = field(default_factory=set)

    def judge(self, entries: Iterable[Entry]) -> Iterator[Judgement]:
        """Yield what became of each record that says it is of the session, or has its key."""
        for offset, entry in enumerate(entries):
            value = entry.value
            said = None if value is None else value.get("session_id")
            if self.session_id not in (said, entry.key):
                if isinstance(said, str) and len(self.others) < MOST_REMEMBERED:
                    self.others.add(said)
                continue
            if value is None:
                yield Judgement(offset, None, None, unreadable(entry))
                continue
            admitted = admit(Record(PARTITION, offset, entry.key, entry.timestamp, value), self.settings)
            if isinstance(admitted, Rejected):
                yield Judgement(offset, self.session_id, None, admitted)
                continue
            self.state, outcome = step(self.state, admitted, self.settings)
            yield Judgement(offset, self.session_id, admitted.event_id, outcome)

    def completed(self) -> str | None:
        """Return the other session whose id begins like the one that was looked for, None if there is none.

        Raises:
            ConfigurationError: several begin so.
        """
        return completed(self.session_id, self.others, "the files")

    def missing(self) -> ConfigurationError:
        """Return what to say when there was no record of the session."""
        return not_found(self.session_id, self.others, "the files")


def completed(beginning: str, others: set[str], place: str) -> str | None:
    """Return the session whose id begins so, None if there is none.

    >>> completed("60a3", {"60a3a234-959c", "7b1c0000-1111"}, "the files")
    '60a3a234-959c'

    Raises:
        ConfigurationError: several begin so.
    """
    found = sorted(each for each in others if beginning and each.startswith(beginning))
    if len(found) > 1:
        names = ", ".join(printable(name, 80) for name in found[:_NEAREST])
        more = "" if len(found) <= _NEAREST else f" and {len(found) - _NEAREST:,} more"
        raise ConfigurationError(
            f"{len(found):,} sessions in {place} begin with {printable(beginning, 80)}: {names}{more}. "
            "Give more of the id."
        )
    return found[0] if found else None


def not_found(session_id: str, others: set[str], place: str) -> ConfigurationError:
    """Return the error for a session without records, with the nearest of the names there are."""
    near = get_close_matches(session_id[:200], others, n=_NEAREST, cutoff=0.4) or sorted(others)[:_NEAREST]
    names = ", ".join(printable(name, 80) for name in near)
    among = f"The nearest of {len(others):,} sessions" if len(others) > 1 else "The only session"
    known = f" {among} there: {names}." if near else ""
    return ConfigurationError(f"No record of session {printable(session_id, 80)} in {place}.{known}")


def scored_again(enriched: dict[str, Any]) -> Scored:
    """Return the outcome that this record was made from."""
    eddy = enriched["eddy"]
    _, partition, offset, _ = eddy["id"].rsplit("/", 3)
    known = {name: value for name, value in enriched.items() if name != "eddy"}
    events = tuple(
        Event(topic_of(EventKind(fields["event_type"]), fields, DEFAULTS), fields)
        for fields in eddy["events"]
    )
    return Scored(Decision.of(int(partition), int(offset), known), enriched, events, "", ())

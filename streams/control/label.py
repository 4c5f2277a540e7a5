"""What people say of alerts: a loop, or not one. The newest label of an episode counts. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum, unique
from typing import Any, NamedTuple, Self

import orjson

from streams.control.command import MalformedError, number, optional_text, text


@unique
class LabelWord(StrEnum):
    """What somebody says of an alert."""

    LOOP = "loop"
    NOT_A_LOOP = "not_a_loop"


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """A label. ``subject`` is the episode, or session/ and the session; ``at`` in ms since 1970.

    ``rule``, ``level``, ``tools`` and ``agent_id`` are those of the alert, as far as they were known.
    """

    subject: str
    session_id: str
    label: str
    at: int
    who: str
    via: str | None = None
    why: str | None = None
    agent_id: str | None = None
    rule: str | None = None
    level: str | None = None
    tools: tuple[str, ...] = ()

    @property
    def key(self) -> bytes:
        """The Kafka key."""
        return self.subject.encode("utf-8", "replace")

    def fields(self) -> dict[str, Any]:
        """Return the fields of the record."""
        return {**asdict(self), "tools": list(self.tools)}

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> Self:
        """Read the fields of a record.

        Raises:
            MalformedError: a field is missing or of another type; the message names it, not its value.
        """
        tools = fields.get("tools") or []
        if not isinstance(tools, list) or not all(isinstance(tool, str) for tool in tools):
            raise MalformedError("tools must be a list of texts")
        return cls(
            subject=text(fields, "subject"),
            session_id=text(fields, "session_id"),
            label=text(fields, "label"),
            at=number(fields, "at"),
            who=text(fields, "who"),
            via=optional_text(fields, "via"),
            why=optional_text(fields, "why"),
            agent_id=optional_text(fields, "agent_id"),
            rule=optional_text(fields, "rule"),
            level=optional_text(fields, "level"),
            tools=tuple(dict.fromkeys(tools)),
        )


class Labels:
    """The newest label of each subject, record by record.

    Attributes:
        known: The newest label, by subject.
        unreadable: How many records could not be read.

    >>> labels = Labels()
    >>> said = {"subject": "e", "session_id": "s", "label": "not_a_loop", "at": 7, "who": "kim"}
    >>> labels.take(b"e", orjson.dumps(said))
    >>> labels.refuted("e", 6), labels.refuted("e", 7), labels.refuted(None, 7)
    (False, True, False)
    """

    def __init__(self) -> None:
        self.known: dict[str, Label] = {}
        self.unreadable = 0

    def take(self, key: bytes | None, value: bytes | None) -> None:
        """Fold the next record of `session-labels`; a value of None takes back."""
        if value is None:
            self.known.pop((key or b"").decode("utf-8", "replace"), None)
            return
        try:
            fields = orjson.loads(value)
            label = Label.of(fields if isinstance(fields, dict) else {})
        except (orjson.JSONDecodeError, MalformedError):
            self.unreadable += 1
            return
        if label.label in tuple(LabelWord):
            self.known[label.subject] = label

    def refuted(self, subject: str | None, at: int) -> bool:
        """Tell whether somebody had said by then, ms since 1970, that it is no loop."""
        said = self.known.get(subject or "")
        return said is not None and said.label == LabelWord.NOT_A_LOOP and said.at <= at


class ReadLabels(NamedTuple):
    """The labels that count, and how many records could not be read."""

    labels: tuple[Label, ...]
    unreadable: int


def labels_in(records: Iterable[tuple[bytes | None, bytes | None]]) -> ReadLabels:
    """Return the newest label of each subject, by the order of the records.

    Args:
        records: Key and value of each record of `session-labels`, oldest first; a value of None takes back.

    >>> said = {"subject": "e", "session_id": "s", "label": "loop", "at": 1, "who": "kim"}
    >>> read = labels_in((b"e", orjson.dumps({**said, "label": word})) for word in ("loop", "not_a_loop"))
    >>> [each.label for each in read.labels]
    ['not_a_loop']
    """
    labels = Labels()
    for key, value in records:
        labels.take(key, value)
    return ReadLabels(tuple(labels.known.values()), labels.unreadable)

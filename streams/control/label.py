"""What people say of alerts: a loop, or not one; how often the detectors were right; what to exempt. Pure.

The newest label of an episode counts. The figures are of the labelled alerts alone: people label what they look
at, so they say how much of what was looked at was right, and nothing about loops that no alert named.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum, unique
from typing import Any, Final, NamedTuple, Self

import orjson

from streams.control.command import MalformedError, number, optional_text, text
from streams.core.evaluation.estimate import Interval, wilson

FEWEST_FOR_A_PROPOSAL: Final = 10
"""So many alerts about a tool have to be called wrong, and none right, before Eddy proposes to exempt it."""

_EVERYTHING: Final = "all"


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


class ReadLabels(NamedTuple):
    """The labels that count, and how many records could not be read."""

    labels: tuple[Label, ...]
    unreadable: int


def labels_in(values: Iterable[bytes | None]) -> ReadLabels:
    """Return the newest label of each subject, by the order of the records.

    Args:
        values: The values of `session-labels`, oldest first.

    >>> said = {"subject": "e", "session_id": "s", "label": "loop", "at": 1, "who": "kim"}
    >>> read = labels_in(orjson.dumps({**said, "label": word}) for word in ("loop", "not_a_loop"))
    >>> [each.label for each in read.labels]
    ['not_a_loop']
    """
    found: dict[str, Label] = {}
    unreadable = 0
    for value in values:
        if value is None:
            continue
        try:
            fields = orjson.loads(value)
            label = Label.of(fields if isinstance(fields, dict) else {})
        except (orjson.JSONDecodeError, MalformedError):
            unreadable += 1
            continue
        if label.label in tuple(LabelWord):
            found[label.subject] = label
    return ReadLabels(tuple(found.values()), unreadable)


class Precision(NamedTuple):
    """How many of the labelled alerts were right.

    Attributes:
        by: what they have in common: all, rule, agent or tool.
        name: which rule, agent or tool.
        right: alerts that people called a loop.
        labelled: alerts that people labelled.
    """

    by: str
    name: str
    right: int
    labelled: int

    @property
    def share(self) -> float:
        """The share that was right."""
        return self.right / self.labelled

    @property
    def interval(self) -> Interval | None:
        """Where that share lies with 95 %."""
        return wilson(self.right, self.labelled)


_GROUPS: Final[Mapping[str, Callable[[Label], Iterable[str]]]] = {
    _EVERYTHING: lambda label: ("",),
    "rule": lambda label: (label.rule or "unknown",),
    "agent": lambda label: (label.agent_id or "unknown",),
    "tool": lambda label: label.tools or ("unknown",),
}


def precision(labels: Sequence[Label]) -> list[Precision]:
    """Return how many alerts were right: of all, by rule, by agent and by tool, those with most labels first.

    >>> label = Label(subject="e", session_id="s", label="loop", at=1, who="kim", rule="R1", tools=("Bash",))
    >>> [(each.by, each.name, each.right, each.labelled) for each in precision([label])][:2]
    [('all', '', 1, 1), ('rule', 'R1', 1, 1)]
    """
    found: list[Precision] = []
    for by, names in _GROUPS.items():
        labelled = Counter(name for label in labels for name in names(label))
        right = Counter(name for label in labels if label.label == LabelWord.LOOP for name in names(label))
        rows = [Precision(by, name, right[name], count) for name, count in labelled.items()]
        found += sorted(rows, key=lambda row: (-row.labelled, row.name))
    return found


def to_exempt(labels: Sequence[Label]) -> tuple[str, ...]:
    """Return the tools that people have only ever called wrong, often enough; lower-cased, by name.

    An alert about several tools says which of them is meant only if it is about one: others do not count.
    """
    about = [(label.tools[0].lower(), label.label) for label in labels if len(label.tools) == 1]
    wrong = Counter(tool for tool, word in about if word == LabelWord.NOT_A_LOOP)
    right = {
        tool for label in labels if label.label == LabelWord.LOOP for tool in map(str.lower, label.tools)
    }
    return tuple(
        sorted(tool for tool, count in wrong.items() if count >= FEWEST_FOR_A_PROPOSAL and tool not in right)
    )

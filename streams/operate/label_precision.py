"""How often alerts were right by the labels of people, and which tools they only ever called wrong. Pure.

The figures are of the labelled alerts alone: people label what they look at. They say how much of that was
right, and nothing about loops that no alert named.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

from streams.control.label import Label, LabelWord
from streams.core.evaluation.estimate import Interval, wilson

FEWEST_FOR_A_PROPOSAL: Final = 10
"""So many alerts about a tool have to be called wrong, and none right, before Eddy proposes to exempt it."""


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


_GROUPS: Final[Mapping[str, Callable[[Label], Iterable[str]]]] = MappingProxyType(
    {
        "all": lambda _label: ("",),
        "rule": lambda label: (label.rule or "unknown",),
        "agent": lambda label: (label.agent_id or "unknown",),
        "tool": lambda label: label.tools or ("unknown",),
    }
)


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

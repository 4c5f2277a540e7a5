"""What every agent of these tests does: it calls the tool `work` three times, then says that it is done."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

CALLS: Final = 3
DONE: Final = "All is done."


@dataclass
class Work:
    """The tool, which runs in this process.

    Attributes:
        ran: the numbers of the calls that ran.
        during: what happens during a call, by its number.
    """

    ran: list[int] = field(default_factory=list)
    during: dict[int, Callable[[], object]] = field(default_factory=dict)

    def __call__(self, number: int) -> str:
        """Run call `number`."""
        self.ran.append(number)
        if number in self.during:
            self.during[number]()
        return f"Call {number} went well."

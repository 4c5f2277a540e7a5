"""What the log says of records that break the contract: few lines, however many records there are."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from streams.core.domain.text.figures import count
from streams.worker.run_result import Violation

PAUSE_SECONDS: Final = 10.0
"""Between two lines about a partition."""

log = logging.getLogger(__name__)


Later = Callable[[float, Callable[[], None]], object]
"""Calls a function after a number of seconds."""


def _on_this_loop(delay: float, callback: Callable[[], None]) -> None:
    asyncio.get_running_loop().call_later(delay, callback)


class _First(NamedTuple):
    offset: int
    detail: str


@dataclass(slots=True)
class _Unlogged:
    """What has been gathered about a partition since its last line."""

    reasons: Counter[str] = field(default_factory=Counter)
    first_refused: _First | None = None
    first_scored: _First | None = None
    scored: int = 0

    def add(self, violation: Violation) -> None:
        first = _First(violation.offset, violation.detail)
        if violation.reason is None:
            self.scored += 1
            self.first_scored = self.first_scored or first
        else:
            self.reasons[violation.reason] += 1
            self.first_refused = self.first_refused or first


class RefusedRecords:
    """Gathers what is refused and logs it, at once and then every `PAUSE_SECONDS`, for each partition.

    Args:
        later: The timer; that of the running event loop when left out.
    """

    def __init__(self, later: Later = _on_this_loop) -> None:
        self._later = later
        self._unlogged: dict[tuple[str, int], _Unlogged] = {}
        """Partitions whose last line is younger than the pause."""

    def add(self, topic: str, partition: int, violations: Iterable[Violation]) -> None:
        """Take in what a run led to."""
        place = topic, partition
        gathered = self._unlogged.get(place, _Unlogged())
        for violation in violations:
            gathered.add(violation)
        if place not in self._unlogged:
            self._tell(place, gathered)

    def _tell(self, place: tuple[str, int], gathered: _Unlogged) -> None:
        """Log what there is; where there is nothing, the next refused record is logged at once."""
        self._unlogged.pop(place, None)
        if not (gathered.reasons or gathered.scored):
            return
        self._unlogged[place] = following = _Unlogged()
        self._later(PAUSE_SECONDS, lambda: self._tell(place, following))
        at = f"{place[0]}[{place[1]}]"
        if (first := gathered.first_refused) is not None:
            reasons = ", ".join(f"{reason} {count:,}" for reason, count in gathered.reasons.most_common())
            log.warning(
                "%s of %s went to the dead letters: %s. The first is %s@%s: %s. `eddy dlq list` shows them.",
                count(gathered.reasons.total(), "record"),
                at,
                reasons,
                at,
                first.offset,
                first.detail,
            )
        if (first := gathered.first_scored) is not None:
            log.warning(
                "schema_violation in %s of %s, accepted all the same: %s, the first time at %s@%s. "
                "They raise no entropy alert. Set identity.agent_id in the producer.",
                count(gathered.scored, "record"),
                at,
                first.detail,
                at,
                first.offset,
            )

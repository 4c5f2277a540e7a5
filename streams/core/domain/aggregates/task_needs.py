"""What tasks of one type have needed in all sessions together, each completion counted once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from streams.core.domain.aggregates.task_profile import TaskProfile

FORMAT = 1


class Completion(NamedTuple):
    """A completed task (specification 5.6), as a record of a session contributes it.

    Attributes:
        task_type: kind of task that was completed.
        partition, offset: place of the record in the input.
        used: `eddy.completion` of the record: steps_used, tokens_used.
        settings_version, buffer: the settings it was processed under, and their `profile_buffer`.
    """

    task_type: str
    partition: int
    offset: int
    used: Mapping[str, Any]
    settings_version: int
    buffer: float


class TaskNeeds(NamedTuple):
    """The completions of one type of task: sums and maxima, so their order does not matter.

    Attributes:
        positions: of each partition of the input, the greatest offset counted. Nothing at or below it counts
            again.
        profile: number and sums of the completions.
        settings_version, buffer: the newest settings among them.
    """

    positions: Mapping[int, int] = {}
    profile: TaskProfile = TaskProfile()
    settings_version: int = -1
    buffer: float = 0.0

    def plus(self, completion: Completion) -> TaskNeeds:
        """Return them with one more completion; the same when it has been counted.

        >>> used = {"steps_used": 15, "tokens_used": 25000}
        >>> needs = TaskNeeds().plus(Completion("api", 0, 7, used, 0, 0.2))
        >>> needs.plus(Completion("api", 0, 7, used, 0, 0.2)) is needs
        True
        >>> needs.report("api")
        {'task_type': 'api', 'recommendation': {'steps': 18, 'tokens': 30000, 'samples': 1}}
        """
        if completion.offset <= self.positions.get(completion.partition, -1):
            return self
        version, buffer = max(
            (self.settings_version, self.buffer), (completion.settings_version, completion.buffer)
        )
        positions = {**self.positions, completion.partition: completion.offset}
        return TaskNeeds(positions, self.profile.plus(completion.used), version, buffer)

    def report(self, task_type: str) -> dict[str, Any]:
        """Return what `task-profiles` reports about this type of task."""
        return {"task_type": task_type, "recommendation": self.profile.recommendation(self.buffer)}

    def snapshot(self) -> list[Any]:
        """Return them as a JSON-able list; equal needs give equal lists."""
        positions = sorted(self.positions.items())
        return [FORMAT, positions, self.profile.snapshot(), self.settings_version, self.buffer]

    @classmethod
    def restore(cls, snapshot: Sequence[Any]) -> TaskNeeds:
        """Read back what `snapshot` wrote.

        Raises:
            ValueError: the snapshot is of another format version, or is not a snapshot.
        """
        match snapshot:
            case [1, positions, profile, int(version), buffer]:
                return cls(dict(positions), TaskProfile.restore(profile), version, buffer)
            case [int(version), *_] if version != FORMAT:
                raise ValueError(f"needs have format version {version}, this program reads version {FORMAT}")
            case _:
                raise ValueError("not a snapshot of what tasks needed")

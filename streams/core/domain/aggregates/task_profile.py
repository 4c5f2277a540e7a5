"""What tasks of one type usually take, and hence what to grant the next one (specification 5.6)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from math import ceil
from typing import Any, NamedTuple

# No budget is larger (specification 4.1: initial_tokens x budget_cap_factor), so no task counts for more.
_MOST = 10**15
_UNITS = 10_000


class TaskProfile(NamedTuple):
    """The sum of completions. Sums are exact, so it is the same in whatever order they are added.

    Attributes:
        samples: how many completions were added.
        steps: sum of their steps.
        tokens: sum of their tokens in ten-thousandths, which is as fine as they are reported.

    >>> profile = TaskProfile()
    >>> profile = profile.plus({"steps_used": 15, "tokens_used": 25000})
    >>> profile = profile.plus({"steps_used": 18, "tokens_used": 30000})
    >>> profile.recommendation(buffer=0.2)
    {'steps': 20, 'tokens': 33000, 'samples': 2}
    """

    samples: int = 0
    steps: int = 0
    tokens: int = 0

    def plus(self, completion: Mapping[str, Any]) -> TaskProfile:
        """Return the profile with one more completion (`eddy.completion`).

        Steps and tokens count for at most 10^15 in either direction.
        """
        steps, tokens = _bounded(completion["steps_used"]), _bounded(completion["tokens_used"])
        return TaskProfile(
            self.samples + 1, self.steps + int(steps), self.tokens + round(Fraction(tokens) * _UNITS)
        )

    def merged(self, other: TaskProfile) -> TaskProfile:
        """Return the profile of the completions of both."""
        return TaskProfile(self.samples + other.samples, self.steps + other.steps, self.tokens + other.tokens)

    def recommendation(self, buffer: float) -> dict[str, int] | None:
        """Return {steps, tokens, samples} to grant: the means and ``buffer`` of them (0.2: a fifth) more.

        Steps and tokens are rounded up. None without a completion.
        """
        if self.samples == 0:
            return None
        return {
            "steps": _granted(self.steps / self.samples, buffer),
            "tokens": _granted(self.tokens / (self.samples * _UNITS), buffer),
            "samples": self.samples,
        }

    def snapshot(self) -> list[Any]:
        """Return the profile as a JSON-able list; sums as text, because they outgrow what JSON numbers hold.

        >>> TaskProfile(2, 33, 550_000_000).snapshot()
        [2, '33', '550000000']
        """
        return [self.samples, str(self.steps), str(self.tokens)]

    @classmethod
    def restore(cls, snapshot: Sequence[Any]) -> TaskProfile:
        """Read back what `snapshot` wrote.

        >>> TaskProfile.restore([2, "33", "550000000"]).recommendation(buffer=0.2)
        {'steps': 20, 'tokens': 33000, 'samples': 2}
        """
        samples, steps, tokens = snapshot
        return cls(samples, int(steps), int(tokens))


def recommend(completions: Iterable[Mapping[str, Any]], buffer: float) -> dict[str, int] | None:
    """Return what to grant a task after these completions of its type, None after none.

    >>> recommend([{"steps_used": 10, "tokens_used": 100}], buffer=0.2)
    {'steps': 12, 'tokens': 120, 'samples': 1}
    """
    profile = TaskProfile()
    for completion in completions:
        profile = profile.plus(completion)
    return profile.recommendation(buffer)


def _bounded(used: float) -> float:
    return max(-_MOST, min(used, _MOST))


def _granted(mean: float, buffer: float) -> int:
    # Rounded first: 10 x 1.2 may come out just above 12 and still is 12.
    return ceil(round(mean * (1 + buffer), 6))


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

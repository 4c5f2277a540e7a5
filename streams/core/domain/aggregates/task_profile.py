"""What tasks of one type usually take: what to grant the next one (5.6), and who takes far more (7.8)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from math import ceil
from typing import Any, Final, NamedTuple

from streams.core.domain.aggregates.contribution import is_place
from streams.core.domain.text.digest import digest

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

    @property
    def mean_tokens(self) -> float | None:
        """Tokens of the mean completion, None without any."""
        return self.tokens / (self.samples * _UNITS) if self.samples else None

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


FORMAT: Final = 2
_WITHOUT_TOLD: Final = 1


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


class Outlay(NamedTuple):
    """What a session under way has used, as one of its records contributes it.

    Attributes:
        task_type: kind of task that the session does.
        partition, offset, at: place of the record in the input, and its meta.timestamp, ms since 1970.
        session_id, agent_id, event_id: those of the record, the last two bounded.
        tokens, cost: used by the session up to here; the cost None where nobody tells it.
        times: what the setting `spend_times_kind` is for the record.
        number: which of the session's records that count it is.
    """

    task_type: str
    partition: int
    offset: int
    at: int
    session_id: str
    agent_id: str
    event_id: str
    tokens: float
    cost: float | None
    times: int
    number: int

    def snapshot(self) -> list[object]:
        """Return it as a JSON-able list, without the type of task."""
        return [*self[1:]]

    @classmethod
    def restore(cls, task_type: str, snapshot: Sequence[object]) -> Outlay:
        """Read back what `snapshot` wrote.

        Raises:
            ValueError: it is none.
        """
        match snapshot:
            case [
                int(partition),
                int(offset),
                int(at),
                str(session_id),
                str(agent_id),
                str(event_id),
                int() | float() as tokens,
                None | int() | float() as cost,
                int(times),
                int(number),
            ] if all(map(is_place, (partition, offset, at, times, number))):
                names = session_id, agent_id, event_id
                return cls(task_type, partition, offset, at, *names, tokens, cost, times, number)
        raise ValueError("not what a session has used")


class FirstTold(NamedTuple):
    """That a session was told to use too much.

    Attributes:
        session: digest of its id.
        offset, at, number: of the record that it was told with first.
        tokens: what it had used when it was told last.
    """

    session: str
    offset: int
    at: int
    number: int
    tokens: float


class KindExcess(NamedTuple):
    """That a session has used many times what tasks of its type took, and when it was told first."""

    outlay: Outlay
    limit: float
    samples: int
    first: FirstTold


#: So many completions say what a type of task takes.
FEWEST_COMPLETIONS: Final = 20

#: Sessions of a type of task that were told and are remembered; one that is forgotten is told anew.
MOST_TOLD: Final = 100


class TaskNeeds(NamedTuple):
    """The completions of one type of task: sums and maxima, so their order does not matter.

    Attributes:
        positions: of each partition of the input, the greatest offset counted. Nothing at or below it counts
            again.
        profile: number and sums of the completions.
        settings_version, buffer: the newest settings among them.
        told: the sessions that were told to use too much, in the order in which that was last.
    """

    positions: Mapping[int, int] = {}
    profile: TaskProfile = TaskProfile()
    settings_version: int = -1
    buffer: float = 0.0
    told: tuple[FirstTold, ...] = ()

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
        return TaskNeeds(positions, self.profile.plus(completion.used), version, buffer, self.told)

    def compared(self, outlay: Outlay) -> tuple[TaskNeeds, KindExcess | None]:
        """Return them after a session was compared with them, the same if it was before, and what is told.

        >>> needs = TaskNeeds(profile=TaskProfile(20, 300, 20 * 5_000 * 10_000))
        >>> outlay = Outlay("api", 0, 7, 0, "s", "coder", "e", 60_000, None, 10, 3)
        >>> needs, excess = needs.compared(outlay)
        >>> needs, again = needs.compared(outlay._replace(offset=8, tokens=90_000))
        >>> excess.limit, excess.first.offset, again.first.offset
        (50000.0, 7, 7)
        """
        if outlay.offset <= self.positions.get(outlay.partition, -1):
            return self, None
        after = self._replace(positions={**self.positions, outlay.partition: outlay.offset})
        mean, samples = self.profile.mean_tokens, self.profile.samples
        if mean is None or mean <= 0 or samples < FEWEST_COMPLETIONS or outlay.tokens < outlay.times * mean:
            return after, None
        session = digest(outlay.session_id) or ""
        known = next((each for each in self.told if each.session == session), None)
        others = [each for each in self.told if each is not known]
        if known is None or known.tokens > outlay.tokens:  # or it has begun again
            known = FirstTold(session, outlay.offset, outlay.at, outlay.number, 0)
        first = known._replace(tokens=outlay.tokens)
        after = after._replace(told=(*others, first)[-MOST_TOLD:])
        return after, KindExcess(outlay, outlay.times * mean, samples, first)

    def report(self, task_type: str) -> dict[str, Any]:
        """Return what `task-profiles` reports about this type of task."""
        return {"task_type": task_type, "recommendation": self.profile.recommendation(self.buffer)}

    def snapshot(self) -> list[Any]:
        """Return them as a JSON-able list; equal needs give equal lists."""
        kept = [sorted(self.positions.items()), self.profile.snapshot(), self.settings_version, self.buffer]
        return [FORMAT, *kept, [[*each] for each in self.told]] if self.told else [_WITHOUT_TOLD, *kept]

    @classmethod
    def restore(cls, snapshot: Sequence[Any]) -> TaskNeeds:
        """Read back what `snapshot` wrote.

        Raises:
            ValueError: the snapshot is of another format version, or is not a snapshot.
        """
        match snapshot:
            case [1, positions, profile, int(version), buffer]:
                return cls(dict(positions), TaskProfile.restore(profile), version, buffer)
            case [2, positions, profile, int(version), buffer, told]:
                return cls(
                    dict(positions),
                    TaskProfile.restore(profile),
                    version,
                    buffer,
                    tuple([FirstTold(*each) for each in told]),
                )
            case [int(version), *_] if version not in (FORMAT, _WITHOUT_TOLD):
                raise ValueError(f"needs have format version {version}, this program reads version {FORMAT}")
            case _:
                raise ValueError("not a snapshot of what tasks needed")

"""Sending dead letters again: the original message to where it stood, once, and only where it is any use."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import AsyncIterable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum, unique
from typing import Any, Final, NamedTuple

from schemas.codec import Codec, Reason, UndecodableError
from streams.core.detectors.settings import DetectionSettings
from streams.core.domain.outcome import Rejected
from streams.core.domain.record import Outgoing, Record
from streams.core.domain.topic import Topic
from streams.core.errors import ConfigurationError
from streams.core.pipeline import admit
from streams.kafka.client import Brokers
from streams.operate.redrive.letter import DeadLetter, redriven_headers
from streams.operate.redrive.memory import Mark, RedriveMemory, opened
from streams.worker.batch import key_text
from streams.worker.dead_letter import reason_for


class Trial:
    """Reads and checks messages under the settings given.

    Args:
        codec: As the workers have it; its registry and its limit of bytes count.
        settings: The detection settings that are in force.
    """

    def __init__(self, codec: Codec, settings: DetectionSettings) -> None:
        self._decoder = codec.decoder(f"{Topic.DECISION_LOGS}-value")
        self._settings = settings

    async def prepare(self, letters: Iterable[DeadLetter]) -> None:
        """Fetch the schemas that the letters name and that are not known yet.

        Raises:
            InfrastructureError: the registry does not answer.
        """
        messages = ((letter.value, letter.headers) for letter in letters if not letter.raw)
        await self._decoder.prepare(messages)

    def decode(self, letter: DeadLetter) -> dict[str, Any]:
        """Return the fields of the message.

        Raises:
            UndecodableError: it cannot be read.
        """
        if letter.raw:
            raise UndecodableError(Reason.UNREADABLE, f"the letter holds the raw bytes of a {letter.raw}")
        return self._decoder.decode(letter.value, letter.headers)

    def refusal(self, letter: DeadLetter, timestamp: int) -> str | None:
        """Say why the message would be set aside again at ``timestamp`` (ms); None where it would not."""
        if letter.cut:
            return f"the letter does not hold all of the message: cut were the bytes of {letter.cut}"
        try:
            value = self.decode(letter)
        except UndecodableError as error:
            return str(error)
        admitted = admit(Record(letter.partition, 0, key_text(letter.key), timestamp, value), self._settings)
        if not isinstance(admitted, Rejected):
            return None
        return f"{reason_for(admitted.problems)}: {admitted.detail}"


#: Letters that are sent together: at most this many, and this many bytes.
_TOGETHER: Final = 500
_BYTES_TOGETHER: Final = 4 << 20

#: What a record needs beside its message, with some reserve.
_OVERHEAD: Final = 200


@unique
class LetterOutcome(StrEnum):
    """What becomes of a letter that was asked for."""

    SENT = "sent"
    """It is sent again; of a dry run, it would be."""
    SENT_BEFORE = "sent_before"
    """It was sent again already, or another letter of the same message was."""
    UNCERTAIN = "uncertain"
    """Another run began to send it and has not said that it did."""
    USELESS = "useless"
    """It would come back."""
    FOREIGN = "foreign"
    """It has no place to go to: Eddy did not write it, or its partition or that of its mark is missing."""


class LetterResult(NamedTuple):
    """A letter, its outcome and the reason, which is empty where it is sent."""

    letter: DeadLetter
    outcome: LetterOutcome
    why: str


@dataclass(frozen=True, slots=True)
class Target:
    """The source topic as it is now."""

    topic: str
    partitions: int
    max_bytes: int | None
    """The largest batch it takes, None where the brokers do not report it."""


@dataclass(frozen=True, slots=True)
class RedriveRequest:
    """What is asked for. ``now`` is the time the messages get, in ms."""

    now: int
    dry_run: bool = False
    force: bool = False
    """Also what would come back."""
    again: bool = False
    """Also what was sent before, or perhaps was."""
    run: str = field(default_factory=lambda: uuid.uuid4().hex[:12])


async def target(brokers: Brokers) -> Target:
    """Look at the source topic.

    Raises:
        ConfigurationError: there is none.
    """
    name = brokers.topic(Topic.DECISION_LOGS)
    found = await brokers.describe([name])
    if not found:
        raise ConfigurationError(f"There is no topic {name}. Create the topics with `eddy topics apply`.")
    limit = found[0].config.get("max.message.bytes", "")
    return Target(name, found[0].partitions, int(limit) if limit.isdigit() else None)


class Redrive:
    """Sends letters again, in their order.

    A message goes to the partition it came from, under its own key: how keys are spread over partitions is
    the producers' business, and the state of its session is there. Its headers are its own, and how often
    it was sent again. Its Kafka timestamp is that of now.

    Args:
        brokers: Where the topics are.
        trial: Tells what would come back.
        to: The source topic that messages go back to.
        request: What is asked for.
        report: Called with each letter when its outcome is decided.
    """

    def __init__(
        self,
        brokers: Brokers,
        trial: Trial,
        to: Target,
        request: RedriveRequest,
        report: Callable[[LetterResult], None],
    ) -> None:
        self._brokers = brokers
        self._trial = trial
        self._to = to
        self._request = request
        self._report = report
        self._memory: RedriveMemory | None = None
        self._partitions_with_marks = 0
        self.outcomes: Counter[LetterOutcome] = Counter()

    async def send(self, letters: AsyncIterable[DeadLetter]) -> None:
        """Send what is to be sent of the letters; at most some hundred of them are held at a time.

        Raises:
            InfrastructureError: the brokers refused; what they did not acknowledge is uncertain then.
        """
        self._partitions_with_marks = await opened(self._brokers)
        batch: list[DeadLetter] = []
        size = 0
        async for letter in letters:
            if batch and (
                self._partition(batch[-1]) != self._partition(letter) or size + letter.size > _BYTES_TOGETHER
            ):
                await self._batch(batch)
                batch, size = [], 0
            batch.append(letter)
            size += letter.size
            if len(batch) == _TOGETHER:
                await self._batch(batch)
                batch, size = [], 0
        if batch:
            await self._batch(batch)

    async def _batch(self, letters: Sequence[DeadLetter]) -> None:
        partition = self._partition(letters[0])
        if partition is None or partition >= min(self._to.partitions, self._partitions_with_marks):
            if partition is None:
                why = "nothing says where it stood"
            elif partition >= self._to.partitions:
                why = f"there is no partition {partition}"
            else:
                why = (
                    f"{self._brokers.topic(Topic.REDRIVEN)} has no partition {partition}: give it as many as "
                    f"{self._to.topic} has, with kafka-topics.sh --alter"
                )
            for letter in letters:
                self._decide(letter, LetterOutcome.FOREIGN, why)
            return
        if self._memory is None or self._memory.partition != partition:
            self._memory = RedriveMemory(self._brokers, partition)
        if not self._request.dry_run or not self._memory.was_read:
            await self._memory.catch_up()
        await self._trial.prepare(letters)
        chosen = self._chosen(letters, self._memory)
        if chosen and not self._request.dry_run:
            await self._send(chosen, self._memory)
        for letter, _ in chosen:
            self._decide(letter, LetterOutcome.SENT, "")

    def _chosen(self, letters: Sequence[DeadLetter], memory: RedriveMemory) -> list[tuple[DeadLetter, Mark]]:
        chosen = []
        begun: dict[int, Mark] = {}
        for letter in letters:
            offset = _offset(letter)
            before = begun.get(offset) or memory.marks.of(offset)
            outcome, why = self._outcome(letter, before)
            if outcome is not LetterOutcome.SENT:
                self._decide(letter, outcome, why)
                continue
            begun[offset] = Mark(self._request.run, 1 if before is None else before.times + 1, done=False)
            chosen.append((letter, begun[offset]))
        if self._request.dry_run:
            for offset, mark in begun.items():
                memory.marks.apply(offset, mark)
        return chosen

    def _outcome(self, letter: DeadLetter, before: Mark | None) -> tuple[LetterOutcome, str]:
        if before is not None and before.run == self._request.run:
            return LetterOutcome.SENT_BEFORE, "another letter of the same message is sent now"
        if before is not None and not self._request.again:
            if before.done:
                return LetterOutcome.SENT_BEFORE, f"was sent again already (run {before.run})"
            return (
                LetterOutcome.UNCERTAIN,
                f"run {before.run} began to send it, and was interrupted or still runs",
            )
        if not self._request.force and (why := self._uselessness(letter)) is not None:
            return LetterOutcome.USELESS, f"would come back: {why}"
        return LetterOutcome.SENT, ""

    def _uselessness(self, letter: DeadLetter) -> str | None:
        limit = self._to.max_bytes
        if limit is not None and letter.size + _OVERHEAD > limit:
            return f"{letter.size:,} bytes, max.message.bytes of {self._to.topic} is {limit:,}"
        return self._trial.refusal(letter, self._request.now)

    async def _send(self, chosen: list[tuple[DeadLetter, Mark]], memory: RedriveMemory) -> None:
        now = self._request.now
        await memory.write([(_offset(letter), mark) for letter, mark in chosen], now)
        await memory.catch_up()
        won = [(letter, mark) for letter, mark in chosen if memory.marks.of(_offset(letter)) == mark]
        for letter, mark in chosen:
            if memory.marks.of(_offset(letter)) != mark:
                self._decide(
                    letter, LetterOutcome.UNCERTAIN, "another run began to send it at the same moment"
                )
        rows = [
            Outgoing(letter.key, letter.value, now, redriven_headers(letter.headers)) for letter, _ in won
        ]
        await self._brokers.write(self._to.topic, [(memory.partition, row) for row in rows])
        done = [(_offset(letter), mark._replace(done=True)) for letter, mark in won]
        await memory.write(done, now)
        chosen[:] = won

    def _partition(self, letter: DeadLetter) -> int | None:
        """Return the partition a letter goes back to, None where it is not known or another topic's."""
        source = letter.source
        return source.partition if source is not None and source.topic == self._to.topic else None

    def _decide(self, letter: DeadLetter, outcome: LetterOutcome, why: str) -> None:
        self.outcomes[outcome] += 1
        self._report(LetterResult(letter, outcome, why))


def _offset(letter: DeadLetter) -> int:
    assert letter.source is not None
    return letter.source.offset

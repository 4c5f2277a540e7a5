"""Whether a message would be accepted if it came now: read and checked as the job does, without a session."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from schemas.codec import Codec, Reason, UndecodableError
from streams.core.detectors.settings import DetectionSettings
from streams.core.domain.outcome import Rejected
from streams.core.domain.record import Record
from streams.core.domain.topic import Topic
from streams.core.pipeline import admit
from streams.operate.redrive.letter import DeadLetter
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

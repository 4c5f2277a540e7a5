"""The front of the package: one `Codec` per process gives the decoder and the encoders.

>>> codec = Codec.bundled()
>>> alerts = codec.encoder("entropy-alerts-value")
>>> codec.decoder("decision-logs-value").decode(b'{"session_id": "s1"}', ())
{'session_id': 's1'}
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Self

from schemas.bundled import JOB_SUBJECTS, OUTPUT_SUBJECTS
from schemas.decoder import MAX_VALUE_BYTES, Decoder
from schemas.encoder import Encoder, OutputFormat, bundled_encoder, json_encoder, registered_encoder
from schemas.numbers import CONTROL_SUBJECTS
from schemas.reason import Reason, UndecodableError
from schemas.registered import RegistryAddress
from schemas.subjects import ids_of, register_all

if TYPE_CHECKING:
    from schemas.registry import Registry

__all__ = [
    "Codec",
    "Decoder",
    "Encoder",
    "OutputFormat",
    "Reason",
    "RegistryAddress",
    "UndecodableError",
]


@dataclass(frozen=True, slots=True)
class Codec:
    """How this process reads and writes values; made by `bundled` or `connect`, closed by `close`.

    ``output_format`` is that of every encoder; ``max_value_bytes`` bounds the values that a decoder reads.
    """

    output_format: OutputFormat
    max_value_bytes: int
    _registry: Registry | None = None
    _ids: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}), hash=False)

    @classmethod
    def bundled(
        cls, output_format: OutputFormat = OutputFormat.AVRO, max_value_bytes: int = MAX_VALUE_BYTES
    ) -> Self:
        """Return a codec that needs no registry: the schemas that come with Eddy, under fixed ids."""
        return cls(output_format, max_value_bytes)

    @classmethod
    async def connect(
        cls,
        address: RegistryAddress,
        output_format: OutputFormat = OutputFormat.AVRO,
        max_value_bytes: int = MAX_VALUE_BYTES,
        *,
        register: bool = False,
        written: Collection[str] = OUTPUT_SUBJECTS,
    ) -> Self:
        """Return a codec that takes the ids of its outputs from a registry and reads what others registered.

        ``written`` are the subjects that this process writes. With ``register`` the schemas are registered
        first: those of the control loop for a process that writes them, those of the job for any other.
        Bundled ids are still read, so that switching to a registry leaves no backlog behind.

        Raises:
            InfrastructureError: the registry cannot be reached.
            ConfigurationError: it refuses, or does not hold the schemas of the outputs.
        """
        # Imported here: the HTTP client takes a quarter of a second, and most commands ask no registry.
        from schemas.registry import Registry  # noqa: PLC0415

        registry = Registry(address)
        try:
            if register:
                commands = any(subject in CONTROL_SUBJECTS for subject in written)
                await register_all(registry, CONTROL_SUBJECTS if commands else JOB_SUBJECTS)
            ids = await ids_of(registry, written) if output_format is OutputFormat.AVRO else {}
        except BaseException:
            await registry.close()
            raise
        return cls(output_format, max_value_bytes, registry, MappingProxyType(ids))

    async def close(self) -> None:
        """Close the connection to the registry, if there is one."""
        if self._registry is not None:
            await self._registry.close()

    def decoder(self, subject: str) -> Decoder:
        """Return the decoder of a subject such as ``decision-logs-value``."""
        return Decoder(subject, max_bytes=self.max_value_bytes, source=self._registry)

    def encoder(self, subject: str) -> Encoder:
        """Return the encoder of a subject such as ``entropy-alerts-value``.

        Raises:
            KeyError: no such subject, or with a registry one that is not an output.
        """
        if self.output_format is OutputFormat.JSON:
            return json_encoder(subject)
        if self._registry is None:
            return bundled_encoder(subject)
        return registered_encoder(subject, self._ids[subject])

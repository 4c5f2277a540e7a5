"""The front of the package: one `Codec` per process gives the decoder and the encoders.

>>> codec = Codec.bundled()
>>> alerts = codec.encoder("entropy-alerts-value")
>>> codec.decoder("decision-logs-value").decode(b'{"session_id": "s1"}', ())
{'session_id': 's1'}
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self

from schemas.bundled import JOB_SUBJECTS, OUTPUT_SUBJECTS, latest, versions
from schemas.encoder import Encoder, OutputFormat, bundled_encoder, json_encoder, registered_encoder
from schemas.json_reader import read_json
from schemas.numbers import CONTROL_SUBJECTS, INPUT_SUBJECTS
from schemas.reason import Reason, UndecodableError
from schemas.registered import RegistryAddress
from schemas.wire_format import Headers, framing, named_schema
from schemas.writer_schemas import SchemaSource, WriterSchemas, silent
from streams.core.errors import ConfigurationError

if TYPE_CHECKING:
    from schemas.registry import Registry


def compatibility(subject: str) -> str:
    """Return the rule a subject evolves by.

    Inputs are read for as long as the topic keeps them, so every newer schema reads them; outputs are also
    read by consumers that have not been upgraded yet.

    >>> compatibility("decision-logs-value"), compatibility("topology-value")
    ('BACKWARD_TRANSITIVE', 'FULL_TRANSITIVE')
    """
    return "BACKWARD_TRANSITIVE" if subject in INPUT_SUBJECTS else "FULL_TRANSITIVE"


async def register_all(registry: Registry, subjects: Iterable[str]) -> dict[str, int]:
    """Register every version of the subjects, oldest first, under their rules; return the newest ids.

    Doing it again changes nothing.

    Raises:
        ConfigurationError: the registry does not accept a schema.
        InfrastructureError: the registry cannot be reached.
    """
    ids = {}
    for subject in subjects:
        await registry.require(subject, compatibility(subject))
        for schema in versions(subject):
            ids[subject] = await registry.register(subject, schema.definition)
    return ids


async def ids_of(registry: Registry, subjects: Iterable[str]) -> dict[str, int]:
    """Return the id of the newest version of each subject.

    Raises:
        ConfigurationError: a subject does not hold it.
        InfrastructureError: the registry cannot be reached.
    """
    ids, missing = {}, []
    for subject in subjects:
        schema = latest(subject)
        found = await registry.id_of(subject, schema.definition)
        if found is None:
            missing.append(schema.name)
        else:
            ids[subject] = found
    if missing:
        raise ConfigurationError(
            f"the schema registry does not hold {', '.join(missing)}: register the files of schemas/, or "
            "start with EDDY_SCHEMA_REGISTRY_REGISTER=true"
        )
    return ids


MAX_VALUE_BYTES = 1_048_576


class Decoder:
    """Reads the values of one subject: Avro of any known version, or JSON.

    ``max_bytes`` bounds what is read: a larger value is `Reason.OVERSIZE`. ``source`` is the
    registry; without one only the bundled schemas are known. ``clock`` returns seconds: entries expire by it.
    """

    def __init__(
        self,
        subject: str,
        *,
        max_bytes: int = MAX_VALUE_BYTES,
        source: SchemaSource | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._max_bytes = max_bytes
        self._has_source = source is not None
        self._schemas = WriterSchemas(latest(subject), source, clock)

    async def prepare(
        self, messages: Iterable[tuple[bytes | None, Headers]], progress: Callable[[], None] = silent
    ) -> None:
        """Fetch the schemas that `decode` will need for these (value, headers); call it once per run.

        Without a registry this does nothing. ``progress`` is called for each answer of the registry.

        Raises:
            InfrastructureError: the registry cannot be reached.
            ConfigurationError: the registry refuses, or is none.
        """
        if self._has_source:
            keys = (named_schema(value, headers) for value, headers in messages if value)
            await self._schemas.fetch(dict.fromkeys(key for key in keys if key is not None), progress)

    def decode(self, value: bytes | None, headers: Headers = ()) -> dict[str, Any]:
        """Return the fields of one value. Types are not checked: validation does that, with paths.

        Raises:
            UndecodableError: with the reason; nothing else, whatever the bytes.
        """
        if value is None:
            raise UndecodableError(Reason.NULL_VALUE, "the message has no value")
        if len(value) > self._max_bytes:
            raise UndecodableError(
                Reason.OVERSIZE, f"the value has {len(value)} bytes, {self._max_bytes} are accepted"
            )
        framed = framing(value, headers)
        if framed is None:
            return read_json(value, 0)
        key, start = framed
        return self._schemas.reader(key)(value, start)


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

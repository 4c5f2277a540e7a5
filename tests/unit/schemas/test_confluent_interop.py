"""Confluent's own serialisers write what Eddy reads and read what Eddy writes."""

from __future__ import annotations

import asyncio
import json
from uuid import UUID

import pytest
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient, header_schema_id_serializer
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from schemas.bundled import OUTPUT_SUBJECTS, latest
from schemas.codec import Codec, Decoder, RegistryAddress
from schemas.encoder import registered_encoder
from schemas.registered import RegisteredSchema
from tests.unit.schemas.fake_registry import FakeRegistry
from tests.unit.schemas.samples import fullest, smallest

LOGS = "decision-logs-value"
DEFINITION = latest(LOGS).definition
RECORDS = pytest.mark.parametrize(
    "record", [smallest(DEFINITION), fullest(DEFINITION)], ids=["small", "full"]
)
CONTEXT = SerializationContext("decision-logs", MessageField.VALUE)


@pytest.fixture
def mock():
    return SchemaRegistryClient.new_client({"url": "mock://eddy"})


class MockSource:
    """Confluent's mock registry as a source of schemas."""

    def __init__(self, client):
        self._client = client

    async def schema(self, key, beside):
        found = (
            self._client.get_schema_by_guid(str(key))
            if isinstance(key, UUID)
            else self._client.get_schema(key)
        )
        return RegisteredSchema(found.schema_type, found.schema_str)


def with_defaults(record):
    return Codec.bundled().decoder(LOGS).decode(Codec.bundled().encoder(LOGS).encode(record), ())


@RECORDS
async def test_eddy_reads_what_confluent_writes(mock, record):
    value = AvroSerializer(mock, json.dumps(DEFINITION))(record, CONTEXT)
    decoder = Decoder(LOGS, source=MockSource(mock))
    await decoder.prepare([(value, ())])
    assert decoder.decode(value, ()) == with_defaults(record)


@RECORDS
async def test_eddy_reads_the_id_from_confluents_header(mock, record):
    options = {"schema.id.serializer": header_schema_id_serializer}
    context = SerializationContext("decision-logs", MessageField.VALUE, [])
    value = AvroSerializer(mock, json.dumps(DEFINITION), conf=options)(record, context)
    ((name, content),) = context.headers
    assert (name, content[:1]) == ("__value_schema_id", b"\x01")
    decoder = Decoder(LOGS, source=MockSource(mock))
    await decoder.prepare([(value, context.headers)])
    assert decoder.decode(value, context.headers) == with_defaults(record)


@pytest.mark.parametrize("make", [smallest, fullest])
@pytest.mark.parametrize("subject", [LOGS, *OUTPUT_SUBJECTS])
def test_confluent_reads_what_eddy_writes(mock, subject, make):
    schema = latest(subject)
    id_ = mock.register_schema(subject, Schema(json.dumps(schema.definition)))
    record = make(schema.definition)
    value = registered_encoder(subject, id_).encode(record)
    context = SerializationContext(subject.removesuffix("-value"), MessageField.VALUE)
    read = AvroDeserializer(mock)(value, context)
    assert read == Codec.bundled().decoder(subject).decode(
        Codec.bundled().encoder(subject).encode(record), ()
    )
    assert AvroSerializer(mock, json.dumps(schema.definition))(record, context) == value


async def test_both_use_one_registry_over_http():
    async with FakeRegistry().serve() as url:
        codec = await Codec.connect(RegistryAddress(url=url), register=True)
        with SchemaRegistryClient({"url": url}) as client:
            options = {"auto.register.schemas": False}
            serializer = AvroSerializer(client, json.dumps(DEFINITION), conf=options)
            record = fullest(DEFINITION)
            value = await asyncio.to_thread(serializer, record, CONTEXT)
            decoder = codec.decoder(LOGS)
            await decoder.prepare([(value, ())])
            assert decoder.decode(value, ()) == record

            state = fullest(latest("topology-value").definition)
            written = codec.encoder("topology-value").encode(state)
            context = SerializationContext("topology", MessageField.VALUE)
            assert await asyncio.to_thread(AvroDeserializer(client), written, context) == state
        await codec.close()

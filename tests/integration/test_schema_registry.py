"""The job with a real Schema Registry: Apicurio, with Confluent's own clients on the other side."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.error import SchemaRegistryError
from confluent_kafka.serialization import MessageField, SerializationContext

from schemas.bundled import JOB_SUBJECTS, latest
from schemas.codec import Codec, RegistryAddress
from schemas.registry import Registry
from streams.core.domain.topic import Topic
from streams.core.errors import ConfigurationError
from tests.integration.apicurio import apicurio, running_apicurio
from tests.integration.load import decision, keyed
from tests.integration.maven import CentralUnreachableError
from tests.integration.stage import Stage

pytestmark = [
    pytest.mark.integration,
    pytest.mark.registry,
    pytest.mark.kafka_only("needs a Schema Registry from Maven Central"),
]

LOGS = "decision-logs-value"


@pytest.fixture(scope="module")
def registry() -> Iterator[str]:
    """Yield the URL of a registry."""
    try:
        apicurio()
    except (ConfigurationError, CentralUnreachableError) as error:
        pytest.skip(str(error))
    with running_apicurio() as url:
        yield url


@pytest.fixture
def client(registry: str) -> Iterator[SchemaRegistryClient]:
    """Yield Confluent's client of the registry."""
    with SchemaRegistryClient({"url": registry}) as client:
        yield client


def with_field(definition: Any, **field: Any) -> Any:
    """Return a schema with one more field."""
    changed = copy.deepcopy(definition)
    changed["fields"].append(field)
    return changed


async def test_the_job_reads_and_writes_by_the_ids_of_the_registry(
    stage: Stage, registry: str, client: SchemaRegistryClient
) -> None:
    worker = await stage.worker(schema_registry_url=registry, output_format="avro").ready()
    assert set(client.get_subjects()) == set(JOB_SUBJECTS)

    # One producer writes by our schema, one registers its own, while the worker runs.
    ours = latest(LOGS).definition
    theirs = with_field(ours, name="team", type=["null", "string"], default=None)
    writers = [AvroSerializer(client, json.dumps(schema)) for schema in (ours, theirs)]
    context = SerializationContext(Topic.DECISION_LOGS, MessageField.VALUE)
    steps = [decision("loops", number, tool_output_summary="no match", intent="x") for number in range(6)]
    values = [write(step, context) for step, write in zip(steps, writers * 3, strict=True)]
    assert len({value[1:5] for value in values}) == 2
    await stage.send(keyed(step, stage.partitions, value) for step, value in zip(steps, values, strict=True))
    await stage.processed()

    read = AvroDeserializer(client)
    written = [
        read(stored.value, SerializationContext(topic, MessageField.VALUE))
        for topic in (Topic.ENRICHED, Topic.SESSION_ALERTS)
        for stored in await stage.read(topic)
    ]
    levels = [each["eddy"]["verdict"]["level"] for each in written if "eddy" in each]
    assert len(levels) == len(steps)
    assert levels[-1] == "LOOP"
    assert await stage.read(Topic.DEAD_LETTERS) == []
    assert "holds the schemas of this version" in await stage.command("doctor", schema_registry_url=registry)
    worker.terminate()
    assert await worker.ended() == 0, worker.tail()


async def test_the_registry_refuses_a_schema_that_cannot_read_what_was_written(
    registry: str, client: SchemaRegistryClient
) -> None:
    codec = await Codec.connect(RegistryAddress(url=registry), register=True)
    await codec.close()
    changed = with_field(latest(LOGS).definition, name="surprise", type="string")
    assert client.get_compatibility(LOGS) == "BACKWARD_TRANSITIVE"
    with pytest.raises(SchemaRegistryError, match="compatib"):
        client.register_schema(LOGS, Schema(json.dumps(changed)))
    async with Registry(RegistryAddress(url=registry)) as ours:
        with pytest.raises(ConfigurationError, match="does not accept the schema"):
            await ours.register(LOGS, changed)


async def test_a_worker_that_may_not_register_says_which_schemas_are_missing(stage: Stage) -> None:
    with running_apicurio() as empty:
        worker = stage.worker(schema_registry_url=empty, schema_registry_register=False)
        assert await worker.ended() == 2
    assert "the schema registry does not hold" in worker.log

"""The topics as an AsyncAPI 3.1 document, for catalogues, generators of code and people who consume them.

`python -m topics` writes it to `docs/asyncapi.json`, from `topics.yaml` and the newest of each schema.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from topics.catalogue import Catalogue, Role, TopicSpec

ASYNCAPI_DOCUMENT: Final = "docs/asyncapi.json"
_AVRO: Final = "application/vnd.apache.avro+json;version=1.9.0"
_WRITTEN_BY: Final = "`python -m topics`, from topics/topics.yaml and schemas: change those, not this file"
#: What a process of Eddy does with a topic; people, guards and agents do the rest.
_RECEIVES: Final = frozenset({Role.INPUT, Role.SETTINGS})
#: What the Kafka binding has names for.
_BOUND: Final = ("cleanup.policy", "retention.ms", "delete.retention.ms", "max.message.bytes")
_PREFIX: Final = "topicPrefix"
#: The topic whose records are CloudEvents too.
CLOUD_EVENTS: Final = "session-alerts"
#: Roles whose topics hold the bytes of others.
_OPAQUE: Final = frozenset({Role.DEAD_LETTERS, Role.BRIDGE})


def newest_schemas(folder: Path) -> dict[str, tuple[int, dict[str, Any]]]:
    """Return the newest version of each subject of a folder, and what it says."""
    found = {}
    for subject in sorted(path for path in folder.iterdir() if any(path.glob("v*.avsc"))):
        version = max(int(path.stem.removeprefix("v")) for path in subject.glob("v*.avsc"))
        found[subject.name] = version, json.loads((subject / f"v{version}.avsc").read_text(encoding="utf-8"))
    return found


def asyncapi(catalogue: Catalogue, schemas: Mapping[str, tuple[int, Mapping[str, Any]]]) -> str:
    """Return the whole text of the document."""
    topics = [topic for topic in catalogue.topics if not topic.internal]
    document = {
        "asyncapi": "3.1.0",
        "info": {
            "title": "Eddy",
            "version": "1",
            "description": "What Eddy reads and writes on Kafka. Values are Avro in Confluent's "
            "framing, or JSON with EDDY_OUTPUT_FORMAT=json.",
            "license": {"name": "Apache-2.0"},
            "x-written-by": _WRITTEN_BY,
        },
        "defaultContentType": "application/avro",
        "servers": {
            "kafka": {
                "host": "{bootstrapServers}",
                "protocol": "kafka",
                "variables": {
                    "bootstrapServers": {
                        "default": "127.0.0.1:9092",
                        "description": "EDDY_BOOTSTRAP_SERVERS",
                    }
                },
            }
        },
        "channels": {topic.name: _channel(topic) for topic in topics},
        "operations": {f"{_action(topic)}-{topic.name}": _operation(topic) for topic in topics},
        "components": {
            "parameters": {
                _PREFIX: {
                    "default": "",
                    "description": "EDDY_TOPIC_PREFIX of the job, for clusters with several jobs.",
                }
            },
            "messages": {topic.name: _message(topic, schemas) for topic in topics},
        },
    }
    return json.dumps(document, ensure_ascii=False, indent=1) + "\n"


def _channel(topic: TopicSpec) -> dict[str, Any]:
    bound = {name: _bound(name, topic.config[name]) for name in _BOUND if name in topic.config}
    return {
        "address": f"{{{_PREFIX}}}{topic.name}",
        "title": topic.value,
        "description": topic.why,
        "parameters": {_PREFIX: {"$ref": f"#/components/parameters/{_PREFIX}"}},
        "messages": {"record": {"$ref": f"#/components/messages/{topic.name}"}},
        "bindings": {
            "kafka": {
                "partitions": topic.partitions,
                "replicas": topic.replicas,
                "topicConfiguration": bound,
                "bindingVersion": "0.5.0",
            }
        },
    }


def _bound(name: str, value: str) -> int | list[str]:
    return value.split(",") if name == "cleanup.policy" else int(value)


def _action(topic: TopicSpec) -> str:
    return "receive" if topic.role in _RECEIVES else "send"


def _operation(topic: TopicSpec) -> dict[str, Any]:
    return {
        "action": _action(topic),
        "channel": {"$ref": f"#/channels/{topic.name}"},
        "summary": f"Written by {topic.written_by}.",
        "messages": [{"$ref": f"#/channels/{topic.name}/messages/record"}],
    }


def _message(topic: TopicSpec, schemas: Mapping[str, tuple[int, Mapping[str, Any]]]) -> dict[str, Any]:
    key = {"type": "string", "description": topic.key}
    message: dict[str, Any] = {"name": topic.name, "title": topic.value}
    if topic.events:
        message["description"] = f"event_type: {', '.join(event.kind for event in topic.events)}"
    described = schemas.get(topic.value_schema or "")
    if described is None:  # it has none, or nobody has written it yet
        return message | {
            "contentType": "application/octet-stream" if topic.role in _OPAQUE else "application/json",
            "bindings": {"kafka": {"key": key, "bindingVersion": "0.5.0"}},
        }
    version, schema = described
    headers: dict[str, Any] = {}
    if topic.role is not Role.INPUT:
        headers["eddy-schema"] = {"type": "string", "const": f"{topic.value_schema}/{version}"}
    if topic.name == CLOUD_EVENTS:
        headers |= _cloud_event(topic, version)
    if headers:
        message["headers"] = {"type": "object", "properties": headers}
    return message | {
        "contentType": "application/avro",
        "payload": {"schemaFormat": _AVRO, "schema": schema},
        "bindings": {
            "kafka": {
                "key": key,
                "schemaIdLocation": "payload",
                "schemaIdPayloadEncoding": "confluent",
                "bindingVersion": "0.5.0",
            }
        },
    }


def _cloud_event(topic: TopicSpec, version: int) -> dict[str, Any]:
    """Return the headers by which a record is a CloudEvent, in binary mode."""
    kinds = [f"io.eddy.{event.kind}.v{version}" for event in topic.events]
    return {
        "ce_specversion": {"type": "string", "const": "1.0"},
        "ce_id": {"type": "string", "description": "`id` of the alert; the same alert has the same."},
        "ce_source": {"type": "string", "description": f"/eddy/JOB/{topic.name}/PARTITION"},
        "ce_type": {"type": "string", "enum": kinds},
        "ce_time": {
            "type": "string",
            "format": "date-time",
            "description": "The time of the agent's record.",
        },
    }

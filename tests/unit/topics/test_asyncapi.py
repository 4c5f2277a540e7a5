"""The AsyncAPI document: current, whole, and true to what the job writes."""

import json
from typing import Any

import pytest

from schemas.bundled import latest
from streams.worker.cloud_event import CloudEvents
from tests.pages import ROOT
from topics.asyncapi import ASYNCAPI_DOCUMENT, CLOUD_EVENTS, asyncapi, newest_schemas
from topics.catalogue import Catalogue

CATALOGUE = Catalogue.load()
DOCUMENT: dict[str, Any] = json.loads((ROOT / ASYNCAPI_DOCUMENT).read_text())
PUBLIC = [topic for topic in CATALOGUE.topics if not topic.internal]


def test_the_document_is_current() -> None:
    made = asyncapi(CATALOGUE, newest_schemas(ROOT / "schemas"))
    assert (ROOT / ASYNCAPI_DOCUMENT).read_text() == made, "it is old: run `python -m topics`"


def test_it_has_every_topic_that_others_may_read_and_no_internal_one() -> None:
    assert list(DOCUMENT["channels"]) == [topic.name for topic in PUBLIC]
    assert list(DOCUMENT["components"]["messages"]) == [topic.name for topic in PUBLIC]


@pytest.mark.parametrize("topic", [topic for topic in PUBLIC if topic.value_schema], ids=lambda one: one.name)
def test_a_value_has_the_newest_schema(topic: Any) -> None:
    message = DOCUMENT["components"]["messages"][topic.name]
    newest = latest(topic.value_schema)
    file = ROOT / "schemas" / topic.value_schema / f"v{newest.version}.avsc"
    assert message["payload"]["schema"] == json.loads(file.read_text())


def test_the_headers_of_alerts_are_those_that_the_job_writes() -> None:
    described = DOCUMENT["components"]["messages"][CLOUD_EVENTS]["headers"]["properties"]
    version = latest(f"{CLOUD_EVENTS}-value").version
    alert = {"id": "a", "event_type": "loop_episode", "partition": 0, "timestamp": 0}
    headers = CloudEvents(f"/eddy/JOB/{CLOUD_EVENTS}", version, [("eddy-schema", b"")]).headers(alert)
    assert list(described) == [name for name, _ in headers]
    written = {name: (value or b"").decode() for name, value in headers}
    assert written["ce_type"] in described["ce_type"]["enum"]
    assert written["ce_specversion"] == described["ce_specversion"]["const"]
    assert described["ce_source"]["description"].startswith(written["ce_source"].rpartition("/")[0])


def test_every_reference_leads_somewhere() -> None:
    def references(value: Any) -> list[str]:
        if isinstance(value, dict):
            own = [value["$ref"]] if isinstance(value.get("$ref"), str) else []
            return own + [one for part in value.values() for one in references(part)]
        return [one for part in value for one in references(part)] if isinstance(value, list) else []

    for reference in references(DOCUMENT):
        target: Any = DOCUMENT
        for part in reference.removeprefix("#/").split("/"):
            target = target[part]

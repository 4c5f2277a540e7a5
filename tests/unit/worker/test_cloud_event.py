"""Alerts are CloudEvents for whoever wants them: the SDK of CloudEvents reads them, in both formats."""

import itertools

import orjson
import pytest
from cloudevents.core.bindings.kafka import KafkaMessage, from_kafka
from cloudevents.core.formats.json import JSONFormat

from schemas.codec import Codec, OutputFormat
from streams.core.detectors.settings import DEFAULTS
from streams.core.domain.record import Outgoing
from streams.core.domain.run import Run
from streams.core.domain.session import Session
from streams.core.domain.topic import Topic
from streams.kafka.client import Stored
from streams.worker.batch import Job
from streams.worker.run_result import RunResult
from tests.integration.load import load

NAMES = ["ce_specversion", "ce_id", "ce_source", "ce_type", "ce_time"]


class Sessions(dict[str, Session]):
    """Sessions as the job wants them."""

    def put(self, session: Session, session_id: str) -> None:
        self[session_id] = session


def outputs(codec: Codec) -> dict[str, list[Outgoing]]:
    messages = [
        Stored(0, offset, record.timestamp, record.key, record.value, record.headers)
        for offset, (_, record) in enumerate(itertools.islice(load(1), 400))
    ]
    found = RunResult()
    job = Job(codec, group="prod.eddy", version="1", topic_prefix="prod.")
    job.fold(Run(Topic.DECISION_LOGS, 0, messages), Sessions(), DEFAULTS, found)
    return found.outputs


@pytest.fixture(scope="module")
def avro() -> dict[str, list[Outgoing]]:
    return outputs(Codec.bundled())


def test_every_alert_has_the_attributes_of_an_event_beside_what_it_had(
    avro: dict[str, list[Outgoing]],
) -> None:
    assert len(avro[Topic.SESSION_ALERTS]) > 5
    for alert in avro[Topic.SESSION_ALERTS]:
        assert [name for name, _ in alert.headers] == ["eddy-schema", *NAMES]


def test_no_other_topic_has_them(avro: dict[str, list[Outgoing]]) -> None:
    others = [
        record for topic, records in avro.items() if topic != Topic.SESSION_ALERTS for record in records
    ]
    assert len(others) > 400
    assert not any(name.startswith("ce_") for record in others for name, _ in record.headers)


def test_the_sdk_reads_what_the_value_says_too(avro: dict[str, list[Outgoing]]) -> None:
    decode = Codec.bundled().decoder("session-alerts-value").decode
    for alert in avro[Topic.SESSION_ALERTS]:
        fields = decode(alert.value, alert.headers)
        event = from_kafka(_message(alert), JSONFormat())
        assert event.get_id() == fields["id"]
        assert event.get_source() == "/eddy/prod.eddy/prod.session-alerts/0"
        version = dict(alert.headers)["eddy-schema"].decode().rpartition("/")[2]
        assert event.get_type() == f"io.eddy.{fields['event_type']}.v{version}"
        at = event.get_time()
        assert at is not None
        assert round(at.timestamp() * 1000) == fields["timestamp"]


def test_the_sdk_reads_json_as_the_data_of_the_event() -> None:
    codec = Codec.bundled(OutputFormat.JSON)
    for alert in outputs(codec)[Topic.SESSION_ALERTS]:
        event = from_kafka(_message(alert), JSONFormat())
        assert event.get_datacontenttype() == "application/json"
        assert event.get_data() == orjson.loads(alert.value)


def test_the_same_input_gives_the_same_headers(avro: dict[str, list[Outgoing]]) -> None:
    again = outputs(Codec.bundled())[Topic.SESSION_ALERTS]
    assert [alert.headers for alert in again] == [alert.headers for alert in avro[Topic.SESSION_ALERTS]]


def test_no_two_alerts_are_the_same_event(avro: dict[str, list[Outgoing]]) -> None:
    names = [dict(alert.headers)["ce_id"] for alert in avro[Topic.SESSION_ALERTS]]
    assert len(names) == len(set(names))


def _message(record: Outgoing) -> KafkaMessage:
    headers = {name: value for name, value in record.headers if value is not None}
    return KafkaMessage(headers=headers, key=record.key, value=record.value or b"")

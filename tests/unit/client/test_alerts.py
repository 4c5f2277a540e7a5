"""The reader of alerts: JSON and Avro, each alert once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from eddy_client import alert_decoder
from eddy_client.alert import Alert
from eddy_client.alert_decoder import AlertDecoder, UnreadableAlertError
from eddy_client.alerts import REMEMBERED, _Seen

from schemas.encoder import bundled_encoder, json_encoder

SUBJECT = "session-alerts-value"
FIELDS: dict[str, Any] = {
    "id": "s-1/0/7/loop_episode/opened",
    "event_type": "loop_episode",
    "session_id": "s-1",
    "agent_id": "coder-7",
    "event_id": "e-7",
    "timestamp": 1_700_000_000_000,
    "partition": 0,
    "offset": 7,
    "phase": "opened",
    "level": "LOOP",
    "rule": "R1",
    "episode_id": "0123456789abcdef",
}


@pytest.mark.parametrize("encoder", [json_encoder(SUBJECT), bundled_encoder(SUBJECT)], ids=["json", "avro"])
def test_what_the_job_writes_is_read(encoder: Any) -> None:
    alert = Alert.of(AlertDecoder().decode(encoder.encode(FIELDS), encoder.headers))
    assert alert.alert_id == FIELDS["id"]
    assert (alert.kind, alert.session_id, alert.agent_id) == ("loop_episode", "s-1", "coder-7")
    assert (alert.phase, alert.level, alert.rule) == ("opened", "LOOP", "R1")
    assert alert.fields["offset"] == 7


@pytest.mark.parametrize("value", [b"", b"\x00", b"\xff" * 20, b"[1]", b"plain"])
def test_what_is_no_alert_is_refused(value: bytes) -> None:
    with pytest.raises(UnreadableAlertError):
        AlertDecoder().decode(value, ())


def test_a_schema_that_is_not_known_says_what_to_do() -> None:
    value = b"\x00\x00\x00\x00\x07rest"
    with pytest.raises(UnreadableAlertError, match="newer eddy-client"):
        AlertDecoder().decode(value, [("eddy-schema", b"session-alerts-value/99")])
    with pytest.raises(UnreadableAlertError, match="registry_url"):
        AlertDecoder().decode(value, ())


def test_the_schemas_are_those_of_the_job() -> None:
    ours = Path(alert_decoder.__file__).parent / "schemas"
    theirs = Path(__file__).parents[3] / "schemas"
    subjects = {path.name for path in ours.iterdir()}
    assert subjects == {SUBJECT, "session-commands-value", "session-command-acks-value"}
    for subject in subjects:
        assert {path.name: path.read_text() for path in (ours / subject).iterdir()} == {
            path.name: path.read_text() for path in (theirs / subject).iterdir()
        }


def test_an_alert_counts_once_as_long_as_it_is_remembered() -> None:
    seen = _Seen()
    assert [seen.is_new(each) for each in ("a", "b", "a")] == [True, True, False]
    for number in range(REMEMBERED):
        seen.is_new(str(number))
    assert seen.is_new("a")

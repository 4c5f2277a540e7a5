"""What people say of alerts, as records."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from streams.control.command import MalformedError
from streams.control.label import Label, labels_in

SAID = {
    "subject": "e-1",
    "session_id": "s-1",
    "label": "not_a_loop",
    "at": 1,
    "who": "kim",
    "via": "token",
    "why": "It waits.",
    "agent_id": "coder",
    "rule": "R1",
    "level": "LOOP",
    "tools": ["Bash", "Bash", "Read"],
}


def test_a_label_reads_what_it_writes() -> None:
    label = Label.of(SAID)
    assert label.tools == ("Bash", "Read")
    assert Label.of(orjson.loads(orjson.dumps(label.fields()))) == label
    assert label.key == b"e-1"


@pytest.mark.parametrize(
    "wrong", [{"subject": None}, {"at": "now"}, {"tools": "Bash"}, {"tools": [1]}, {"rule": 7}, {"who": []}]
)
def test_what_is_no_label_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(MalformedError, match=r"must be"):
        Label.of({**SAID, **wrong})


def test_the_newest_label_of_a_subject_counts_and_what_cannot_be_read_is_counted() -> None:
    values = [
        (b"e-1", orjson.dumps(SAID)),
        (b"e-2", orjson.dumps({**SAID, "subject": "e-2"})),
        (b"e-3", orjson.dumps({**SAID, "subject": "e-3"})),
        (b"e-3", None),
        (None, None),
        (b"e-1", b"{"),
        (b"e-1", b"[]"),
        (b"e-1", orjson.dumps({**SAID, "label": "of a later version"})),
        (b"e-1", orjson.dumps({**SAID, "label": "loop"})),
    ]
    found = labels_in(values)
    assert [(each.subject, each.label) for each in found.labels] == [("e-1", "loop"), ("e-2", "not_a_loop")]
    assert found.unreadable == 2

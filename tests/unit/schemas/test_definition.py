"""The text of a schema, within limits."""

from __future__ import annotations

import json

import pytest

from schemas.avro_cost import UnreadableSchemaError
from schemas.writer_schemas import LONGEST_NAME, MOST_CHARACTERS, MOST_DEPTH, MOST_PARTS, definition


def test_a_definition_is_decoded():
    schema = {"type": "record", "name": "R", "fields": [{"name": "a", "type": ["null", "string"]}]}
    assert definition(json.dumps(schema)) == schema


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("no json", "not JSON"),
        ("1" * 5_000, "not JSON"),
        (" " * MOST_CHARACTERS + "1", f"more than the limit of {MOST_CHARACTERS}"),
        ("[" * 5_000 + "]" * 5_000, f"more than {MOST_DEPTH} levels"),
        ("[" * 500 + "]" * 500, f"more than {MOST_DEPTH} levels"),
        (json.dumps([1] * MOST_PARTS), f"more parts than the limit of {MOST_PARTS}"),
        (json.dumps([{"name": "n" * (LONGEST_NAME + 1)}]), "a name of more than 1000 characters"),
        (json.dumps({"a": {"namespace": "n" * (LONGEST_NAME + 1)}}), "a namespace of more than 1000"),
    ],
    ids=["no json", "huge number", "long", "very deep", "deep", "wide", "name", "namespace"],
)
def test_what_is_beyond_a_limit_is_refused_with_its_name(text, said):
    with pytest.raises(UnreadableSchemaError, match=said):
        definition(text)


def test_what_keeps_every_limit_is_taken():
    deep = "[" * (MOST_DEPTH - 1) + "]" * (MOST_DEPTH - 1)
    assert definition(deep)
    assert len(definition(json.dumps([1] * (MOST_PARTS - 1)))) == MOST_PARTS - 1
    assert definition(json.dumps({"name": "n" * LONGEST_NAME}))
    assert definition(" " * (MOST_CHARACTERS - 1) + "1") == 1

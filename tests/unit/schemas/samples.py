"""Records made from a schema: the smallest, the fullest, and any by hypothesis."""

from __future__ import annotations

from hypothesis import strategies as st

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
LONG = st.integers(-(2**63), 2**63 - 1)
INT = st.integers(-(2**31), 2**31 - 1)
DOUBLE = st.floats(allow_nan=False)
PRIMITIVES = {
    "null": st.none(),
    "string": TEXT,
    "long": LONG,
    "int": INT,
    "double": DOUBLE | INT,
    "boolean": st.booleans(),
}


def records(schema, types=None):
    """Any value of a schema, with fields that have a default absent at times."""
    types = {} if types is None else types
    match schema:
        case str():
            return (PRIMITIVES | types)[schema]
        case list():
            return st.one_of([records(branch, types) for branch in schema])
        case {"type": "array", "items": items}:
            return st.lists(records(items, types), max_size=3)
        case {"type": "map", "values": values}:
            return st.dictionaries(TEXT, records(values, types), max_size=3)
        case {"type": "record", "name": name, "fields": fields}:
            required = {f["name"]: records(f["type"], types) for f in fields if "default" not in f}
            optional = {f["name"]: records(f["type"], types) for f in fields if "default" in f}
            types[name] = st.fixed_dictionaries(required, optional=optional)
            return types[name]
    raise TypeError(schema)


def smallest(schema):
    """The record with nothing in it that may be absent."""
    match schema:
        case {"type": "record", "fields": fields}:
            return {f["name"]: smallest(f["type"]) for f in fields if "default" not in f}
        case {"type": "array"}:
            return []
        case {"type": "map"}:
            return {}
        case list():
            return smallest(schema[0])
        case _:
            return {"null": None, "string": "", "long": 0, "int": 0, "double": 0.0, "boolean": False}[schema]


def fullest(schema, types=None):
    """The record with every field filled, from the last branch of every union."""
    types = {} if types is None else types
    match schema:
        case {"type": "record", "name": name, "fields": fields}:
            types[name] = schema
            return {f["name"]: fullest(f["type"], types) for f in fields}
        case {"type": "array", "items": items}:
            return [fullest(items, types), fullest(items, types)]
        case {"type": "map", "values": values}:
            return {"k": fullest(values, types)}
        case list():
            return fullest(schema[-1], types)
        case str() if schema in types:
            return fullest(types[schema], types)
        case _:
            return {"string": "tête", "long": 2**40, "int": 7, "double": 0.25, "boolean": True}[schema]

"""Whether records of one schema can be read with another, by trying it on sample records."""

from __future__ import annotations

import io

import fastavro

from schemas.avro_reader import compile_reader
from tests.unit.schemas.samples import fullest, smallest


class IncompatibleError(AssertionError):
    """A record of the one schema cannot be read with the other."""


def check_reads(written_with, read_with):
    """Read the smallest and the fullest record of one schema with another, in fastavro and in Eddy.

    Raises:
        IncompatibleError: that fails, loses a field both have, or leaves one without a value.
    """
    writer, reader = fastavro.parse_schema(written_with), fastavro.parse_schema(read_with)
    for record in (smallest(written_with), fullest(written_with)):
        data = io.BytesIO()
        fastavro.schemaless_writer(data, writer, record)
        as_written = fastavro.schemaless_reader(io.BytesIO(data.getvalue()), writer)
        try:
            resolved = fastavro.schemaless_reader(io.BytesIO(data.getvalue()), writer, reader)
        except Exception as error:
            raise IncompatibleError(str(error)) from error
        ours, _ = compile_reader(writer, reader)(data.getvalue(), 0)
        if ours != resolved:
            raise IncompatibleError(f"{ours} is not {resolved}")
        for name in as_written.keys() & resolved.keys():
            _check_kept(as_written[name], resolved[name], name)


def _check_kept(before, after, path):
    if isinstance(before, dict) and isinstance(after, dict):
        for name in before.keys() & after.keys():
            _check_kept(before[name], after[name], f"{path}.{name}")
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for index, (one, other) in enumerate(zip(before, after, strict=True)):
            _check_kept(one, other, f"{path}.{index}")
    elif before != after:
        raise IncompatibleError(f"{path} was {before!r} and is read as {after!r}")

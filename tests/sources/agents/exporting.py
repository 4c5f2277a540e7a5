"""What each of the agents here shares: the exporter, the two tools, and the question."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

SCRIPT = os.environ["SCRIPT"]
SESSION = os.environ["SESSION"]
INSTRUMENTATION = os.environ.get("INSTRUMENTATION")
QUESTION = "Where are the settings read?"
MOST_TURNS = 20


def fail(path: str) -> str:
    """Return what the tool says that never succeeds."""
    return f"cannot read {path}: permission denied"


def search(query: str) -> str:
    """Search the code."""
    return f"Three places match {query}."


@contextmanager
def exporting() -> Iterator[TracerProvider]:
    """Export spans in batches, as documents of OpenTelemetry recommend, to where the environment says."""
    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(), schedule_delay_millis=300))
    try:
        yield provider
    finally:
        provider.shutdown()

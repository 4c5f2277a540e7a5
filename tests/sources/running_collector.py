"""Runs the collector with the configuration that the page on OpenTelemetry shows."""

from __future__ import annotations

import tempfile
import urllib.error
import urllib.request
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from streams.kafka.embedded.child import Child
from tests.integration.worker_process import PATIENCE_SECONDS, until
from tests.pages import ROOT, Page
from tests.ports import own_port

_PAGE: Final = ROOT / "docs" / "sources" / "opentelemetry.md"

_ENCODING: Final = "otlp_proto"

_QUIET: Final = """\
service:
  telemetry:
    metrics: {level: none}
    logs: {level: warn}
"""
"""What the tests add: no port for metrics."""

_BESIDE: Final = """\
exporters:
  otlp_http: {{endpoint: "{door}", compression: gzip}}
service:
  pipelines:
    traces: {{exporters: [kafka, otlp_http]}}
"""
"""A second way out."""


@asynccontextmanager
async def running(
    program: Path, folder: Path, bootstrap: str, *, door: str | None = None, encoding: str = _ENCODING
) -> AsyncIterator[str]:
    """Run it for as long as the block lasts; yield its endpoint. At the end it has sent what it held.

    Args:
        program: the collector.
        folder: for its configuration.
        bootstrap: the brokers that it writes to.
        door: an endpoint that takes the same spans over HTTP, if there is one.
        encoding: what it writes.
    """
    (shown,) = Page(_PAGE.read_text()).blocks("yaml")
    address = f"127.0.0.1:{own_port()}"
    for ours, theirs in (("127.0.0.1:4318", address), ("kafka:9092", bootstrap), (_ENCODING, encoding)):
        assert shown.count(ours) == 1
        shown = shown.replace(ours, theirs)
    texts = [shown, _QUIET]
    if door is not None:
        texts.append(_BESIDE.format(door=door))
    command = [str(program)]
    for number, text in enumerate(texts):
        (part := folder / f"collector-{number}.yaml").write_text(text)
        command.append(f"--config=file:{part}")
    with Child(command, scratch=Path(tempfile.mkdtemp())) as child:

        def serves() -> bool:
            assert not child.ended(), child.said()
            return _takes_spans(f"http://{address}/v1/traces")

        await until(serves, PATIENCE_SECONDS, "a collector that takes spans")
        yield f"http://{address}"
        child.signal("TERM")
        await until(child.ended, PATIENCE_SECONDS, "the end of the collector")
        assert child.said() == ""


def _takes_spans(url: str) -> bool:
    request = urllib.request.Request(url, b"{}", {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return bool(answer.status == 200)
    except urllib.error.URLError:
        return False

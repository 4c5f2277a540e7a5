"""What stands in the topic of spans: whether the bridge can make the most of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from streams.core.domain.topic import Topic
from streams.formats.adapters.otlp.span import SpanKind
from streams.formats.adapters.otlp.values import SESSION_KEYS, kind_of, reduced, session_of
from streams.kafka.client import Stored
from streams.operate.doctor.check import Check, ok, warn
from streams.worker.bridge.request import Request, is_keyed, read

NEWEST = 50
"""Records of each partition that are looked at."""

_NAME = "spans"


def span_checks(
    newest: Iterable[Stored], topic: str = Topic.OTLP_SPANS, session_keys: Sequence[str] = ()
) -> Iterator[Check]:
    """Yield what the newest records of the topic of spans lack; nothing if there are none.

    Args:
        newest: The records.
        topic: How the topic is called.
        session_keys: The operator's attributes that name a session.
    """
    requests = [(stored, read(stored)) for stored in newest]
    if not requests:
        return
    readable = [(stored, found) for stored, found in requests if isinstance(found, Request)]
    spans = [span for _, found in readable for span in found.spans]
    calls = [reduced(span) for span in spans if kind_of(span) is SpanKind.TOOL]
    traces = {span.trace_id for span in spans}
    keys = (*session_keys, *SESSION_KEYS)
    named = {span.trace_id for span in spans if session_of(span, keys) is not None}
    findings = [
        *_unreadable(topic, len(requests) - len(readable), len(requests)),
        *_foreign(topic, sum(not is_keyed(stored, found.spans) for stored, found in readable), len(readable)),
        *_without_content(sum(call.arguments is None for call in calls), len(calls)),
        *_unnamed(len(traces - named), len(traces)),
    ]
    yield from findings
    if not findings:
        yield ok(_NAME, f"{len(spans)} spans in the newest records of {topic}: {len(calls)} tool calls")


def _unreadable(topic: str, count: int, total: int) -> Iterator[Check]:
    if count:
        said = f"{count} of the newest {total} records of {topic} hold no spans"
        yield warn(_NAME, said, "Let the collector write traces only, as otlp_proto or otlp_json.")


def _foreign(topic: str, count: int, total: int) -> Iterator[Check]:
    if count:
        said = f"{count} of the newest {total} records of {topic} are not keyed by their trace"
        yield warn(_NAME, said, "Set `partition_traces_by_id: true` at the collector's kafkaexporter.")


def _without_content(count: int, total: int) -> Iterator[Check]:
    if count:
        advice = "Switch content capture on, as docs/sources/frameworks.md says: such calls equal no other."
        yield warn(_NAME, f"{count} of {total} tool calls have no arguments", advice)


def _unnamed(count: int, total: int) -> Iterator[Check]:
    if count:
        advice = (
            "If an agent's conversation is several traces, name it, as docs/sources/frameworks.md says, or "
            "name your attribute in EDDY_OTLP_SESSION."
        )
        yield warn(_NAME, f"{count} of {total} traces have no session: each is one of its own", advice)

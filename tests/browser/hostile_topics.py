"""Records of every topic that the console reads, with what an attacker writes in every text of theirs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from schemas.reason import Reason
from streams.core.domain.record import Outgoing
from streams.core.domain.topic import Topic
from streams.kafka.clock import now_ms
from streams.worker.dead_letter import LetterSource, dead_letter_headers
from tests.unit.console.told import everything

#: The session of the recordings with the most alerts, and what is about no session.
SESSION = "explain-billing-config-d4c2"
#: Fields whose words steer what the console shows: with other words in them nothing would be shown.
STEERING = frozenset(
    {
        *("action", "action_status", "do", "event_type", "kind", "level", "phase", "previous_level"),
        *("raw", "result", "rule", "scope", "scoring_status", "severity", "state", "status", "trend_level"),
        *("verdict_level", "node", "trend"),
    }
)
#: Texts that hold JSON.
_DOCUMENTS = frozenset({"request", "tool_input"})
_LONGEST = 400
_YEAR_2017_MS = 1_500_000_000_000

Written = tuple[Topic, Outgoing]


def hostile_topics(text: str, number: int) -> Iterator[Written]:
    """Yield the records of one session, its agents, tools and operators, all named with a text before.

    Args:
        text: Stands before each text of the records.
        number: How many such sessions came before: versions of documents follow it.
    """
    text = text[:_LONGEST]
    about = [told for told in everything() if _is_about(told.fields)]
    later = now_ms() - max(told.stored.timestamp for told in about) - 60_000

    def changed(value: Any, name: str = "") -> Any:
        match value:
            case Mapping():
                return {key: changed(each, key) for key, each in value.items()}
            case list():
                return [changed(each, name) for each in value]
            case str() if name in _DOCUMENTS and value.startswith("{"):
                return orjson.dumps(changed(orjson.loads(value))).decode()
            case str():
                return value if name in STEERING else text + value
            case int() if value > _YEAR_2017_MS:
                return value + later
        return value

    for told in about:
        assert told.stored.key is not None
        at, key = told.stored.timestamp + later, text + told.stored.key.decode()
        if told.fields is not None:
            value = orjson.dumps(changed(told.fields))
            yield told.topic, Outgoing(key.encode(), value, at, [])
    yield from _documents(text, number)


def _is_about(fields: Mapping[str, Any] | None) -> bool:
    return fields is not None and fields.get("session_id", SESSION) == SESSION and "changed" not in fields


def _documents(text: str, number: int) -> Iterator[Written]:
    at, by = now_ms(), {"at": now_ms(), "by": text, "why": text}
    settings = {"version": 1 + number, "changed": by, "settings": {"cycle_loop": 4 + number % 3}}
    rules = [{"name": text[:60], "when": {"agents": [text[:60]]}, "do": {"action": "pause"}}]
    policy = {"version": 1 + number, "mode": "dry_run", "changed": by, "rules": rules}
    documents = {
        Topic.DETECTOR_CONFIG: settings,
        Topic.SHADOW_CONFIG: settings,
        Topic.INTERVENTION_POLICY: policy,
    }
    for topic, document in documents.items():
        yield topic, Outgoing(b"settings", orjson.dumps(document), at, [])
    source = LetterSource("decision-logs", 0, number)
    headers = dead_letter_headers(source, Reason.KEY, text, [text], group=text, version=text)
    yield Topic.DEAD_LETTERS, Outgoing(text.encode(), text.encode(), at, list(headers))

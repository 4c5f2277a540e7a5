"""Sending dead letters again: first what would become of each, then the same for good."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import orjson
from aiohttp import web

from schemas.registered import RegistryAddress
from streams.console.action_context import ActionContext, form_sent
from streams.console.command_form import Form, one
from streams.console.console import Console, wants_json
from streams.console.raw_records import RawRecords
from streams.console.views.dead_letter import place_named
from streams.console.views.dead_letters import places
from streams.console.views.following import board_of
from streams.control.audit import AuditKind, AuditRecord
from streams.control.publisher import recorded
from streams.core.domain.topic import Topic
from streams.core.errors import ConfigurationError
from streams.kafka.client import Brokers
from streams.operate.redrive.letter import DeadLetter, read
from streams.operate.redrive.redrive import (
    LetterOutcome,
    LetterResult,
    Redrive,
    RedriveRequest,
    Trial,
    target,
)
from streams.operate.redrive.selection import letters_at

MOST_AT_ONCE: Final = 1_000
"""Letters of one action; `eddy dlq redrive` sends any number."""
UNCONFIRMED: Final = 10
"""More letters than that need their number in the field `confirm`."""

_FILTERS: Final = ("reason", "session", "since", "fate")


@dataclass(frozen=True, slots=True)
class Redriving:
    """The page and the action.

    Attributes:
        console: Parts that all screens share.
        context: What actions are done with.
        brokers: Where the letters are.
        records: Its codec reads the messages.
    """

    console: Console
    context: ActionContext
    brokers: Brokers
    records: RawRecords

    def routes(self) -> Sequence[web.RouteDef]:
        """Return their routes."""
        return [
            web.get("/dead-letters/redrive", self._look),
            web.post("/actions/dead-letters/redrive", self._redrive),
        ]

    async def _look(self, request: web.Request) -> web.Response:
        query = request.query
        wanted = [place_named(text) for text in query.getall("place", ())]
        if not wanted:
            wanted = places(board_of(self.console).model, query, self.console.clock())
        if not wanted:
            raise ConfigurationError("No dead letter matches. /dead-letters has those that there are.")
        left_out = max(0, len(wanted) - MOST_AT_ONCE)
        asked = RedriveRequest(
            now=self.console.clock(), dry_run=True, force=_is_on(query, "force"), again=_is_on(query, "again")
        )
        found = await self._send(wanted[:MOST_AT_ONCE], asked)
        given = {name: query[name] for name in _FILTERS if query.get(name)}
        return self._shown(request, found, asked, left_out=left_out, given=given)

    async def _redrive(self, request: web.Request) -> web.Response:
        form, now = await form_sent(request), self.console.clock()
        who = self.context.who(request, now)
        wanted = self._wanted(form, now)
        fields = {name: one(form, name) or "" for name in ("force", "again", "dry_run")}
        asked = RedriveRequest(
            now=now,
            dry_run=_is_on(fields, "dry_run"),
            force=_is_on(fields, "force"),
            again=_is_on(fields, "again"),
        )
        if asked.dry_run:
            return self._shown(request, await self._send(wanted, asked), asked)
        if len(wanted) > UNCONFIRMED and one(form, "confirm") != str(len(wanted)):
            raise ConfigurationError(
                f"This is about {len(wanted):,} letters: type {len(wanted)} into the field confirm."
            )
        record = AuditRecord(
            id=who.new_id(),
            at=now,
            who=who.issuer.name,
            role=who.issuer.role,
            via=who.issuer.via,
            kind=AuditKind.REDRIVE,
            target=f"{len(wanted)} letters" if len(wanted) > 1 else _text(wanted[0]),
            why=one(form, "why"),
            request=orjson.dumps(
                {
                    "run": asked.run,
                    "places": list(map(_text, wanted)),
                    "force": asked.force,
                    "again": asked.again,
                }
            ).decode(),
        )
        found = await recorded(
            self.context.publisher,
            record,
            lambda: self._send(wanted, asked),
            lambda _: f"{Topic.DECISION_LOGS}",
        )
        return self._shown(request, found, asked)

    def _wanted(self, form: Form, now: int) -> list[tuple[int, int]]:
        wanted = [place_named(text) for text in dict.fromkeys(form.get("place", ()))]
        given = {name: text for name in _FILTERS if (text := one(form, name))}
        if bool(wanted) == bool(given):
            raise ConfigurationError(
                "Say which letters: the field place once for each, such as 3:17, or a filter (reason, "
                "session, since, fate)."
            )
        wanted = wanted or places(board_of(self.console).model, given, now)
        if not 0 < len(wanted) <= MOST_AT_ONCE:
            raise ConfigurationError(
                f"This is about {len(wanted):,} letters; the console sends 1 to {MOST_AT_ONCE:,} at once. "
                "`eddy dlq redrive` sends any number."
            )
        return wanted

    async def _send(self, wanted: Sequence[tuple[int, int]], asked: RedriveRequest) -> list[LetterResult]:
        """Send letters again, or find out what would become of them; return what does, in their order."""
        settings = self.console.settings
        codec = replace(self.records.codec, max_value_bytes=settings.max_value_bytes)
        found: list[LetterResult] = []
        trial = Trial(codec, self.console.board.settings)
        to = await target(self.brokers)
        await Redrive(self.brokers, trial, to, asked, found.append).send(self._letters(wanted))
        return sorted(found, key=lambda each: each.letter[:2])

    async def _letters(self, wanted: Sequence[tuple[int, int]]) -> AsyncIterator[DeadLetter]:
        async for stored in letters_at(self.brokers, wanted):
            yield read(stored)

    def _shown(
        self,
        request: web.Request,
        found: Sequence[LetterResult],
        asked: RedriveRequest,
        *,
        left_out: int = 0,
        given: Mapping[str, str] | None = None,
    ) -> web.Response:
        outcomes = Counter(each.outcome for each in found)
        settings = self.console.settings
        content = {
            "dry_run": asked.dry_run,
            "force": asked.force,
            "again": asked.again,
            "run": asked.run,
            "rows": [_row(each) for each in found],
            "outcomes": {str(each): outcomes[each] for each in LetterOutcome},
            "left_out": left_out,
            "given": dict(given or {}),
            "most": MOST_AT_ONCE,
            "unconfirmed": UNCONFIRMED,
            "max_bytes": settings.max_value_bytes,
            "registry": RegistryAddress(url=settings.schema_registry_url or "").shown(),
        }
        if wants_json(request) and not asked.dry_run:
            return web.json_response({"status": "accepted", **content})
        return self.console.answer(request, "redrive.html.j2", "dead-letters", content)


def _row(result: LetterResult) -> dict[str, Any]:
    letter = result.letter
    return {
        "at": _text((letter.partition, letter.offset)),
        "reason": letter.counted_as,
        "outcome": str(result.outcome),
        # Texts of producers stand in both.
        "raw_value": {
            "key": None if letter.key is None else letter.key.decode("utf-8", "backslashreplace"),
            "why": result.why,
        },
    }


def _text(place: tuple[int, int]) -> str:
    partition, offset = place
    return f"{partition}:{offset}"


def _is_on(fields: Mapping[str, str], name: str) -> bool:
    return fields.get(name) in ("1", "true", "on")

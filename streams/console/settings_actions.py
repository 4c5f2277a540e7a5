"""Changing the settings from the console: checked, tried on what was, tried on what comes, and set."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from aiohttp import web

from streams.console.action_context import ActionContext, done, form_sent
from streams.console.backtests import Backtests
from streams.console.command_form import Form, Who, based_on_of, one, why_of
from streams.console.console import Console
from streams.console.proposal import proposal, sent
from streams.console.views.following import board_of
from streams.console.views.settings import proposed
from streams.control.audit import AuditKind, AuditRecord
from streams.control.publisher import recorded
from streams.core.domain.topic import Topic
from streams.core.errors import ConfigurationError, ConflictError
from streams.kafka.client import Brokers
from streams.operate.explain.settings_topic import (
    changed_document,
    differing,
    in_force,
    publish,
    publish_shadow,
    records,
    trial_document,
    tried_out,
)


@dataclass(frozen=True, slots=True)
class Changing:
    """The actions that change settings.

    Attributes:
        console: Parts that all screens share.
        context: What actions are done with.
        brokers: Where the settings are.
        backtests: Those that were run here.
    """

    console: Console
    context: ActionContext
    brokers: Brokers
    backtests: Backtests

    def routes(self) -> Sequence[web.RouteDef]:
        """Return their routes, which `Access` lets operators through to."""
        return [
            web.post("/actions/settings/check", self._check),
            web.post("/actions/settings/apply", self._apply),
            web.post("/actions/settings/shadow", self._shadow),
            web.post("/actions/settings/shadow/clear", self._clear),
        ]

    async def _check(self, request: web.Request) -> web.Response:
        form, board = await form_sent(request), board_of(self.console)
        return web.json_response(await proposed(board, proposal(board.settings, sent(one(form, "changes")))))

    async def _apply(self, request: web.Request) -> web.Response:
        form, who = await form_sent(request), self.context.who(request, self.console.clock())
        why, changes, based_on = why_of(form), sent(one(form, "changes")), based_on_of(form)
        before = in_force(await records(self.brokers))
        if before.version != based_on:
            raise ConflictError(
                f"Version {before.version} is in force by now; this change is based on version {based_on}. "
                "Open the proposal again: it shows what it would change now."
            )
        document = changed_document(before, changes, _changed(who, why))
        if not document["changed"]["settings"]:
            raise ConfigurationError(f"Version {before.version} in force has these values already.")
        test = self.backtests.kept.get(one(form, "backtest") or "")
        tried = board_of(self.console).versions.tried
        # Who reads the audit sees which steps before this one were left out.
        steps = {
            "changes": changes,
            "based_on": based_on,
            "backtest": None if test is None or test.changes != changes else f"last {test.hours} h",
            "shadow": tried is not None and not differing(tried, proposal(before, changes).after),
        }
        return await self._published(
            request,
            form,
            Topic.DETECTOR_CONFIG,
            _audit(who, AuditKind.SETTINGS, f"version {document['version']}", why, steps),
            lambda: publish(self.brokers, document),
            f"Version {document['version']} is published. The workers follow it from their next run on.",
            "/settings",
        )

    async def _shadow(self, request: web.Request) -> web.Response:
        form = await form_sent(request)
        changes = sent(one(form, "changes"))
        if not changes:
            raise ConfigurationError("There is nothing to try: the proposal changes no setting.")
        return await self._try_out(request, form, changes)

    async def _clear(self, request: web.Request) -> web.Response:
        return await self._try_out(request, await form_sent(request), {})

    async def _try_out(self, request: web.Request, form: Form, changes: Mapping[str, Any]) -> web.Response:
        who, why = self.context.who(request, self.console.clock()), why_of(form)
        live = in_force(await records(self.brokers))
        tried = tried_out(await records(self.brokers, Topic.SHADOW_CONFIG))
        if not changes and tried.settings is None:
            raise ConfigurationError("Nothing is tried out.")
        document = trial_document(live, tried, changes, _changed(who, why))
        return await self._published(
            request,
            form,
            Topic.SHADOW_CONFIG,
            _audit(who, AuditKind.SHADOW, f"version {document['version']}", why, {"changes": changes}),
            lambda: publish_shadow(self.brokers, document),
            "Tried out from the next records on." if changes else "Nothing is tried out any more.",
            "/settings/history",
        )

    async def _published(
        self,
        request: web.Request,
        form: Form,
        topic: Topic,
        record: AuditRecord,
        act: Callable[[], Awaitable[int]],
        said: str,
        page: str,
    ) -> web.Response:
        offset = await recorded(self.context.publisher, record, act, lambda place: f"{topic}/0/{place}")
        visible = await self.context.visible(topic, [(0, offset)])
        content = {"id": record.id, "place": (0, offset), "visible": visible, "said": said}
        return done(self.console, request, form, content, self.console.pages.url(page))


def _changed(who: Who, why: str) -> dict[str, Any]:
    return {"at": who.now, "by": who.issuer.name, "why": why}


def _audit(who: Who, kind: AuditKind, target: str, why: str, request: Mapping[str, Any]) -> AuditRecord:
    return AuditRecord(
        id=who.new_id(),
        at=who.now,
        who=who.issuer.name,
        role=who.issuer.role,
        via=who.issuer.via,
        kind=kind,
        target=target,
        why=why,
        request=orjson.dumps(dict(request)).decode(),
    )

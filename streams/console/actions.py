"""The actions of operators: commands to agents, and triage. Nothing is done that the audit does not know."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import orjson
from aiohttp import web
from eddy_client.protocol import Action

from streams.console.action_context import ActionContext, done, form_sent
from streams.console.command_form import commands_of, labels_of, triage_of
from streams.console.console import Console
from streams.console.views import hold
from streams.control.command import Command
from streams.control.label import LabelWord
from streams.control.publisher import audit_of, issued
from streams.core.domain.topic import Topic


def routes(console: Console, context: ActionContext) -> Sequence[web.RouteDef]:
    """Return the routes of the actions, which `Access` lets operators through to, and the page of holds."""

    async def command(request: web.Request) -> web.Response:
        form, who = await form_sent(request), context.who(request, console.clock())
        # Before the form is looked at: what is wrong with it says how many sessions an agent has.
        if refused := console.access.outside(request, context.reached(form)):
            return await console.access.refuse(request, refused)
        commands = commands_of(form, who, context.known.live)
        if refused := console.access.commands(len(commands)):
            return await console.access.refuse(request, refused)
        record = audit_of(commands, who.new_id())
        places = await issued(context.publisher, commands, record)
        visible = await context.visible(Topic.SESSION_COMMANDS, places)
        return done(
            console,
            request,
            form,
            {
                "id": record.id if len(commands) > 1 else commands[0].command_id,
                "place": places[-1],
                "visible": visible,
                "commands": len(commands),
                "said": said_of(commands),
                "undo": _undo(commands),
            },
            _page_of(console, commands),
        )

    async def triage(request: web.Request) -> web.Response:
        form, who = await form_sent(request), context.who(request, console.clock())
        records = triage_of(form, who, context.known.seen)
        sessions = (context.known.facts(each.target or "").session_id for each in records)
        agents = map(context.known.agent_of, sessions)
        if refused := console.access.outside(request, agents):
            return await console.access.refuse(request, refused)
        do, count = orjson.loads(records[0].request or "{}")["do"], len(records)
        labels = labels_of(records, do, context.known.facts)
        wrong = [
            each.target for each in records if each.target and context.known.is_called_wrong(each.target)
        ]
        if labels or (wrong and do == "unack"):  # the audit does not announce what cannot be done
            await context.publisher.partition(Topic.SESSION_LABELS, b"")
        if wrong and do == LabelWord.LOOP:  # who says so takes back what was said before
            before = {**form, "episode_ids": wrong, "do": ["unack"]}
            records = [*triage_of(before, who, context.known.seen), *records]
        places = await context.publisher.audit_all(records)
        await context.publisher.label(labels)
        if do == "unack":
            await context.publisher.take_back(wrong, who.now)
        visible = await context.visible(Topic.CONSOLE_ACTIONS, places)
        content = {
            "id": records[-1].id,
            "place": places[-1],
            "visible": visible,
            "episodes": count,
            "said": _DONE[do],
            "undo": _UNDONE.get(do) and {"do": _UNDONE[do], "episode_ids": [each.target for each in records]},
        }
        return done(console, request, form, content, console.pages.url("/alerts"))

    return [
        web.post("/actions/commands", command),
        web.post("/actions/triage", triage),
        *hold.routes(console, context.known),
    ]


#: What taking back undoes.
_UNDONE: Final = {"ack": "unack", "snooze": "unack", "not_a_loop": "unack"}

_DONE: Final = {
    "ack": "Acknowledged.",
    "unack": "Taken back.",
    "snooze": "Snoozed.",
    "assign": "Assigned.",
    "note": "Noted.",
    "loop": "Labelled: a loop.",
    "not_a_loop": "Labelled: not a loop. It needs nobody any more.",
}


def _undo(commands: Sequence[Command]) -> dict[str, Any] | None:
    """Return the fields of the action that takes commands back, None if only an action of its own does."""
    first = commands[0]
    if first.action == Action.PAUSE:
        action, reason = Action.RESUME, "The pause was taken back at once."
    elif first.action == Action.RESUME and not first.is_hold:
        action, reason = Action.PAUSE, "The resumption was taken back at once."
    else:
        return None
    about: dict[str, Any] = {"agent_id": first.agent_id} if first.agent_id else {}
    if not first.is_hold:
        about = {"session_ids": [each.session_id for each in commands], "confirm": len(commands)}
    return {"scope": first.scope, "action": action, "reason": reason, **about}


def said_of(commands: Sequence[Command]) -> str:
    """Return what to say of commands that were published: that they were asked for, no more."""
    first, count = commands[0], len(commands)
    action = first.action.replace("_", " ")
    if first.is_hold:
        whose = f"agent {first.agent_id}" if first.agent_id else "every agent"
        return f"Asked: {action} {whose}."
    return f"Asked: {action}." if count == 1 else f"Asked: {action} {count:,} sessions."


def _page_of(console: Console, commands: Sequence[Command]) -> str:
    """Return the address to go to after commands."""
    first = commands[0]
    if len(commands) > 1 or first.session_id is None:
        return console.pages.url("/alerts")
    return console.pages.url("/session", id=first.session_id)

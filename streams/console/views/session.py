"""One session: steps with their rounds, scores, evidence, what other settings would say, commands."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import isfinite
from typing import Any, Final

import orjson
from aiohttp import web

from streams.console.auth import Identity
from streams.console.auth.refusal import AuthRefusal
from streams.console.board import Steps
from streams.console.console import Console
from streams.console.proposal import as_typed
from streams.console.session_facts import LoopCourse, explanation, session_facts
from streams.console.step_diff.comparison import evidence, twin
from streams.console.step_diff.step_list import lens, scores, with_controls
from streams.console.view import PageView
from streams.console.views.session_content import control_bar, described, saved, shown_fold, shown_step, toned
from streams.console.whatif import MOST_RECORDS, SLIDERS, changed, judge_again
from streams.console.wording import moment
from streams.core.domain.text.printable import printable
from streams.core.errors import ConfigurationError, InfrastructureError, NotFoundError
from streams.operate.explain.settings_topic import differing

MOST_STEPS: Final = 200
"""Steps of a page; the earlier ones are a link away."""

DIALOGS: Final = frozenset({"pause", "abort", "note", "budget"})
"""Commands that need more than a click."""

LOOP_START: Final = "loop"
"""In an address, the step at which the newest loop began."""

_WHOLE: Final = ("first_ts", "last_ts", "records")
"""Figures of all records, which no single one of them has."""

_PATIENCE_S: Final = 2.0
"""How long a page waits for the steps of a session that is in memory."""

_AXES: Final = frozenset({"step", "time"})
"""What the strips of the scores are drawn over."""

_TABS: Final = (
    ("steps", "Steps"),
    ("scores", "Scores"),
    ("evidence", "Evidence"),
    ("what-if", "What if"),
    ("commands", "Commands"),
)


def routes(whole: Console) -> Sequence[web.RouteDef]:
    """Return the routes of the session page."""

    async def show(request: web.Request) -> web.Response:
        console, query = whole.seen_by(request["who"]), request.query
        session_id = query.get("id", "")
        if not session_id:
            raise ConfigurationError("The address names no session: /session?id=... does.")
        tab = query.get("tab", "steps")
        if tab not in dict(_TABS):
            raise ConfigurationError(f"There is no tab {printable(tab, 40)}.")
        now = console.clock()
        known = console.board.session(session_id, now)
        selected = await _selected(console, query, session_id, known) if tab == "steps" else None
        before = _number(query.get("before"), "before") or _around(selected, known)
        # Scores and evidence are about all that is held; a page of steps is enough to read.
        limit = MOST_STEPS if tab == "steps" else 2_000
        waits = known is None or (tab != "steps" and "dialog" not in query)
        held, away = await _read(console, session_id, before, limit, waits=waits)
        # Other settings judge what the detectors saw; everything else is made from what this person may see.
        found = replace(held, steps=console.redaction.steps(held.steps, request["who"].reads_as))
        if not found.steps and known is None:
            raise NotFoundError(console.board.missing(session_id))
        newest = found if before is None else (await _read(console, session_id, None, 1, waits=waits))[0]
        newest = replace(newest, steps=console.redaction.steps(newest.steps, request["who"].reads_as))
        content = {
            **_head(console, request, session_id, newest, known),
            "away": away,
            "tab": tab,
            "dialog": query.get("dialog") if query.get("dialog") in DIALOGS and console.board.live else None,
            "before": before,
        }
        match tab:
            case "steps":
                content |= _steps(console, query, session_id, found, known, before, selected)
            case "scores":
                content |= _scores(console, query, found)
            case "evidence":
                standing = await console.board.standing(session_id)
                explained = explanation(session_id, found.steps)
                content["evidence"] = {
                    **toned(evidence(explained, standing.fields)),
                    "rounds": lens(found.steps, folded=False).rounds,
                    "missing": standing.missing,
                    # The pages of records are of all agents.
                    "partition": found.steps[-1].partition
                    if found.steps and console.agents is None
                    else None,
                }
            case "what-if":
                refused = console.access.judges(request, min(len(held.steps), MOST_RECORDS))
                content |= await _what_if(
                    console, query, held, refused, (_course(held, known).latest or {}).get("rule", "R7")
                )
                if refused:
                    page = console.page(request, "session.html.j2", "sessions", content)
                    return await console.access.refuse(request, refused, page)
            case _:
                content |= {name: (known or {}).get(name, ()) for name in ("commands", "guards")}
        return console.answer(request, "session.html.j2", "sessions", content)

    return [web.get("/session", show)]


async def live(console: Console, query: Mapping[str, str], who: Identity, now: int) -> PageView | None:
    """Return the part of the page that changes: the head, and the newest steps."""
    session_id = query.get("id", "")
    known = console.board.session(session_id, now)
    if known is None or not console.board.live:
        return None  # what the page shows was found elsewhere, and does not change
    key, version = (session_id, query.get("lens"), who.reads_as), console.board.version(session_id)
    before = console.memo.get(key)
    if before is not None and before[0] == version:
        made = before[1]
    else:
        made = await _live_steps(console, query, who, known)
        console.remember(key, version, made)
    bar = console.pages.fragment(
        "session_parts.html.j2", "control_bar", control_bar(known, ""), who.acts_on(known["agent_id"])
    )
    return PageView(made.order, made.rows, {**made.parts, "control": bar, **console.header_parts(now)})


async def _live_steps(
    console: Console, query: Mapping[str, str], who: Identity, known: Mapping[str, Any]
) -> PageView:
    session_id = known["session_id"]
    found = await console.board.steps(session_id, before=None, limit=MOST_STEPS)
    facts = _facts(session_id, found, known)
    content = console.redaction.applied(
        {
            "session": facts,
            "saved": saved(_course(found, known), console.settings.console_currency),
            **_steps(console, {"lens": query.get("lens", "")}, session_id, found, known, None, None),
        },
        who.reads_as,
    )
    folded = bool(content["folded"])
    rows = dict(_row(console, each, session_id, folded=folded) for each in content["lens"]["steps"])
    pages = console.pages
    parts = {
        "verdict": pages.fragment(
            "session_parts.html.j2", "verdict_bar", content["session"], content["saved"]
        )
    }
    parts["showing"] = pages.fragment("session_parts.html.j2", "showing_line", content["showing"])
    if facts["known"]:
        parts["figures"] = pages.fragment("session_parts.html.j2", "figures", content["session"], None, True)
    return PageView(tuple(rows), rows, parts)


def _row(console: Console, entry: Mapping[str, Any], session_id: str, *, folded: bool) -> tuple[str, str]:
    """Return the key of an entry of the list of steps, and what it looks like."""
    arguments: tuple[object, ...]
    match entry:
        case {"fold": fold}:
            key, macro, arguments = f"fold-{fold['from']}", "fold_row", (fold, session_id)
        case {"control": control}:
            key, macro, arguments = f"control-{control['id']}", "control_row", (control, None)
        case _:
            key, macro, arguments = str(entry["n"]), "step_row", (entry, session_id, None, False, folded)
    return key, console.pages.fragment("steps.html.j2", macro, *arguments)


def _head(
    console: Console, request: web.Request, session_id: str, found: Steps, known: Mapping[str, Any] | None
) -> dict[str, Any]:
    facts = _facts(session_id, found, known)
    counts = {"commands": len((known or {}).get("commands", ()))}
    live = console.board.live
    return {
        "session": facts,
        "saved": saved(_course(found, known), console.settings.console_currency),
        "control": control_bar(known, console.access.csrf(request)) if live else None,
        "guarded": bool((known or {}).get("control", {}).get("guards")),
        "episode": (known or {}).get("episode"),
        "triage": (known or {}).get("triage"),
        "reason": facts.get("verdict", ""),
        "tabs": [
            {"name": name, "title": title, "count": counts.get(name, 0)}
            for name, title in _TABS
            if live or name != "commands"
        ],
        "page_url": console.pages.url("/session", id=session_id),
        "command": console.board.explained_by(shlex.quote(printable(session_id, 200))),
    }


async def _read(
    console: Console, session_id: str, before: int | None, limit: int, *, waits: bool
) -> tuple[Steps, str]:
    """Return steps, and why they are missing: nobody who wants to stop a known session waits for them."""
    try:
        async with asyncio.timeout(None if waits else _PATIENCE_S):
            return await console.board.steps(session_id, before=before, limit=limit), ""
    except (TimeoutError, InfrastructureError) as error:
        if waits:
            raise
        return Steps(()), str(error) or "The brokers have not answered yet."


def _course(found: Steps, known: Mapping[str, Any] | None) -> LoopCourse:
    """Return the course of all episodes; of a session that is not in memory as far as its steps tell it."""
    if known is not None:
        course: LoopCourse = known["course"]
        return course
    course = LoopCourse()
    for step in found.steps:
        course.add(step.record)
    return course


def _facts(session_id: str, found: Steps, known: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the figures of the head: of the whole session, whichever of its steps are at hand."""
    facts = session_facts(session_id, found.steps[-1] if found.steps else None, _course(found, known))
    if known is not None:
        more = {name: value for name, value in known.items() if name != "course"}
        facts |= {name: value for name, value in more.items() if facts.get(name) is None}
        facts |= {name: more[name] for name in _WHOLE if more.get(name) is not None}
        facts["known"] = facts["records"] is not None
        facts["sampled"] = bool(more.get("sampled")) and not found.steps
    return facts


def _steps(
    console: Console,
    query: Mapping[str, str],
    session_id: str,
    found: Steps,
    known: Mapping[str, Any] | None,
    before: int | None,
    selected: int | None,
) -> dict[str, Any]:
    folded = query.get("lens") != "all"
    seen = lens(found.steps, folded=folded).content()
    diff = _number(query.get("diff"), "diff")
    linked = console.board.live and console.agents is None  # the pages of records are of all agents
    entries = [
        shown_fold(each) if "fold" in each else shown_step(each, linked=linked) for each in seen["steps"]
    ]
    commands = (known or {}).get("commands", ())
    seen["steps"] = [*with_controls(entries, found.steps, commands, newest=before is None)]
    first, total = (found.steps[0].number, found.steps[-1].number) if found.steps else (0, 0)
    return {
        "lens": seen,
        "folded": folded,
        "selected": selected,
        "diff": None if diff is None else _diff(found, diff),
        "showing": f"{first:,} to {total:,}" if first > 1 else f"{total:,}",
        "lost": ""
        if found.lost_before is None
        else f"Steps before {moment(found.lost_before)} are no longer held ({found.why_lost}).",
        "gaps": f"{found.gaps:,} steps are not shown: they are no longer held, or cannot be read."
        if found.gaps and found.lost_before is None
        else "",
        "began_url": console.pages.url("/session", id=session_id, at=LOOP_START)
        if _course(found, known).latest is not None
        else "",
        "later_url": _later(console, session_id, total, known) if before is not None else "",
        "earlier_url": console.pages.url("/session", id=session_id, before=first) if found.earlier else "",
    }


async def _selected(
    console: Console, query: Mapping[str, str], session_id: str, known: Mapping[str, Any] | None
) -> int | None:
    """Return the number of the step that an address names, or at which the newest loop began.

    Raises:
        web.HTTPSeeOther: leads to the step, since a browser moves to what the fragment names.
    """
    at, course = query.get("at"), None if known is None else known["course"].latest
    if at != LOOP_START:
        selected = _number(at, "at")
    else:
        selected = course and await console.board.number_at(session_id, course["first_offset"])
    if selected and (at == LOOP_START or "go" in query):
        page = console.pages.url("/session", id=session_id, at=selected, lens=query.get("lens"))
        raise web.HTTPSeeOther(f"{page}#s{selected}")
    return selected


def _around(selected: int | None, known: Mapping[str, Any] | None) -> int | None:
    """Return before which step a page ends that has a step in its middle; None for the newest page."""
    if selected is None:
        return None
    end = selected + MOST_STEPS // 2
    return None if known is None or end > known["records"] else end


def _later(console: Console, session_id: str, last: int, known: Mapping[str, Any] | None) -> str:
    """Return the link to the steps after a page, empty where there are none."""
    records, before = (known or {}).get("records") or 0, last + MOST_STEPS + 1
    if last >= records:
        return ""
    return console.pages.url("/session", id=session_id, before=before if before <= records else None)


def _scores(console: Console, query: Mapping[str, str], found: Steps) -> dict[str, Any]:
    axis = query.get("x") or "step"
    if axis not in _AXES:
        raise ConfigurationError(f"x in the address must be step or time, not {printable(axis, 40)}.")
    made = scores(found.steps, console.board.settings)
    return {"scores": made, "scores_json": orjson.dumps(made).decode(), "axis": axis}


def _diff(found: Steps, number: int) -> dict[str, Any] | None:
    pair = twin(found.steps, number)
    return None if pair is None else described(pair)


async def _what_if(
    console: Console, query: Mapping[str, str], found: Steps, refused: AuthRefusal | None, rule: str
) -> dict[str, Any]:
    """Judge the steps again under the settings in the address, unless that is refused.

    The settings of the rule that found the loop stand on top; the others are a click away.
    """
    settings, problem = console.board.settings, refused.detail if refused else ""
    asked = {each.name: _value(query[each.name]) for each in SLIDERS if query.get(each.name)}
    try:
        tried = changed(settings, asked)
    except ConfigurationError as error:
        tried, problem = settings, str(error)
    judged = None
    if not refused:
        # Two thousand steps take a second, in which all other pages would wait.
        async with console.judging:
            judged = await asyncio.to_thread(judge_again, found.steps, tried)
    return {
        "sliders": [
            {
                **each.content(settings),
                "chosen": each.content(tried)["value"],
                "near": each.rule == rule or each.name in asked,
            }
            for each in SLIDERS
        ],
        "what_if": judged.content() if judged else None,
        "problem": problem,
        "proposed": {name: as_typed(after) for name, (_, after) in differing(settings, tried).items()}
        if console.board.live
        else {},
        "cut": len(found.steps) > MOST_RECORDS,
    }


def _value(text: str) -> float | int | str:
    try:
        number = float(text)
    except ValueError:
        return text
    if not isfinite(number):
        return text
    return int(number) if number.is_integer() and "." not in text else number


def _number(text: str | None, name: str) -> int | None:
    if not text:
        return None
    if not text.isdecimal() or len(text) > 12:
        raise ConfigurationError(f"{name} in the address must be the number of a step.")
    return int(text)

"""The automatic policy: what is in force, what it decided, and what came of it or would have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import orjson
from aiohttp import web

from streams.console.action_context import ActionContext, done, form_sent
from streams.console.command_form import based_on_of, one, why_of
from streams.console.command_list import stages
from streams.console.console import Console
from streams.console.interventions.decided import (
    EPISODES,
    Carried,
    Decided,
    as_episode,
    decided,
    open_breakers,
)
from streams.console.interventions.deciding import held, publish
from streams.console.interventions.scoreboard import (
    Fate,
    InterventionOutcome,
    Score,
    outcomes,
    scores,
    unproven,
)
from streams.console.interventions.versions import PolicyVersion, in_force, next_document, policy_versions
from streams.console.live_board import LiveBoard
from streams.console.read_model.place import Fields
from streams.console.read_model.rows import FindingRow
from streams.console.read_model.tables import FINDING
from streams.console.views.following import board_of
from streams.control.audit import AuditKind, AuditRecord
from streams.control.publisher import recorded
from streams.core.domain.topic import Topic
from streams.core.errors import ConfigurationError, ConflictError
from streams.core.policy.intervention import Mode, Policy
from streams.core.policy.intervention_document import document, read
from streams.core.settings_document import next_version
from streams.kafka.client import Brokers

MOST_SHOWN: Final = 100
_AT_ONCE: Final = 500
_LARGEST: Final = 64 << 10

#: What the form begins with if there is no policy yet.
EXAMPLE: Final[Mapping[str, Any]] = {
    "mode": "dry_run",
    "rules": [
        {
            "name": "costly-loops",
            "when": {
                "phase": ["escalated", "still_open"],
                "level": "LOOP",
                "min_tokens_since_onset": 20_000,
                "agents": ["*"],
            },
            "do": [
                {"action": "inject_message"},
                {"action": "pause", "after_records": 10, "ttl_ms": 1_800_000},
            ],
            "limits": {"per_10_min": 10, "max_share_of_live": 0.05},
        }
    ],
    "limits": {"per_hour": 60, "per_hour_per_agent": 10},
}


def routes(console: Console) -> Sequence[web.RouteDef]:
    """Return the route of the page."""

    async def show(request: web.Request) -> web.Response:
        board = board_of(console)
        versions = policy_versions(board.model.ledger.versions.values())
        policy = in_force(versions)
        known, found, board_of_rules = await _scored(board)
        now = console.clock()
        content = {
            "automatic": console.settings.console_automatic,
            "version": policy.version,
            "mode": str(policy.mode),
            "rules": document(policy)["rules"],
            "text": orjson.dumps(
                document(policy) if versions else EXAMPLE, option=orjson.OPT_INDENT_2
            ).decode(),
            "newest": next((_version_row(each) for each in reversed(versions) if not each.ignored), None),
            "breakers": open_breakers(known, policy.version),
            "scores": [each._asdict() for each in board_of_rules],
            "unproven": unproven(policy, versions, board_of_rules),
            "off": orjson.dumps({**document(policy), "mode": str(Mode.OFF)}).decode(),
            "in_vain": [_shown(each, board, now) for each in found if _is_in_vain(each)][:MOST_SHOWN],
            "outcomes": [_shown(each, board, now) for each in found[:MOST_SHOWN]],
            "decisions": len(found),
            "versions": [_version_row(each) for each in reversed(versions)],
        }
        return console.answer(request, "policy.html.j2", "policy", content)

    return [web.get("/policy", show)]


def actions(console: Console, context: ActionContext, brokers: Brokers) -> Sequence[web.RouteDef]:
    """Return the route that publishes a version."""

    async def change(request: web.Request) -> web.Response:
        form, who = await form_sent(request), context.who(request, console.clock())
        why, based_on, given = why_of(form), based_on_of(form), _document(one(form, "document"))
        before = await held(brokers)
        if before.version != based_on:
            raise ConflictError(
                f"Version {before.version} is in force by now; this change is based on version {based_on}. "
                "Load the page again."
            )
        version = next_version(before.version)
        changed = {"at": who.now, "by": who.issuer.name, "why": why}
        document_, problems = next_document(before, given, version, changed)
        after, _ = read(document_, version)
        if not problems and after.mode is Mode.LIVE:
            board = board_of(console)
            versions = policy_versions(board.model.ledger.versions.values())
            _, _, board_of_rules = await _scored(board)
            problems = (*unproven(after, versions, board_of_rules),)
        if problems:
            raise ConfigurationError(f"Not changed. {' '.join(problems)}")
        record = AuditRecord(
            id=who.new_id(),
            at=who.now,
            who=who.issuer.name,
            role=who.issuer.role,
            via=who.issuer.via,
            kind=AuditKind.POLICY,
            target=f"version {version}",
            why=why,
            request=orjson.dumps({"based_on": based_on, "document": given}).decode(),
        )
        offset = await recorded(
            context.publisher,
            record,
            lambda: publish(brokers, document_),
            lambda place: f"{Topic.INTERVENTION_POLICY}/0/{place}",
        )
        visible = await context.visible(Topic.INTERVENTION_POLICY, [(0, offset)])
        content = {
            "id": record.id,
            "place": (0, offset),
            "visible": visible,
            "said": f"Version {version} is in force.{_NOW[after.mode]}",
        }
        return done(console, request, form, content, console.pages.url("/policy"))

    return [web.post("/actions/policy", change)]


_NOW: Final = {
    Mode.OFF: " No policy decides anything.",
    Mode.DRY_RUN: " It is a dry run: no agent is told anything.",
    Mode.LIVE: " It acts on agents from now on.",
}


def _document(text: str | None) -> dict[str, Any]:
    if text is None or len(text.encode("utf-8", "replace")) > _LARGEST:
        raise ConfigurationError(
            f"The field document holds the policy as JSON, in at most {_LARGEST:,} bytes."
        )
    try:
        found = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise ConfigurationError(f"The policy is no JSON: {error}.") from error
    if not isinstance(found, dict):
        raise ConfigurationError('The policy is no JSON object, such as {"mode": "off", "rules": []}.')
    return found


async def _scored(board: LiveBoard) -> tuple[list[Decided], list[InterventionOutcome], list[Score]]:
    """Return what was decided, what became of each episode, and the scores of the rules."""
    known = decided(board.model.ledger.actions.values())
    found = outcomes(known, await _events(board, known))
    return known, found, scores(known, found)


def _is_in_vain(outcome: InterventionOutcome) -> bool:
    return outcome.fate is Fate.RECOVERED and not outcome.decided.done.live


async def _events(board: LiveBoard, known: Sequence[Decided]) -> dict[str, list[Fields]]:
    """Return the events of each episode that was decided about, from memory and from the archive."""
    episodes = {each.done.episode_id for each in known}
    sessions = sorted({each.done.session_id for each in known})
    rows = [
        row
        for session_id in sessions
        if (case := board.model.cases.get(session_id)) is not None
        for row in case.findings.values()
    ]
    for start in range(0, len(sessions), _AT_ONCE):
        part = sessions[start : start + _AT_ONCE]
        kinds, names = ", ".join("?" * len(EPISODES)), ", ".join("?" * len(part))
        where = f"WHERE kind IN ({kinds}) AND session_id IN ({names})"
        held = await board.feed.archive.select(FINDING, where, (*map(str, EPISODES), *part))
        rows += [row for row in held if isinstance(row, FindingRow)]
    found: dict[str, list[Fields]] = {}
    for row in {row.id: row for row in rows if row.kind in EPISODES}.values():
        event = as_episode(orjson.loads(row.body))
        if event is not None and event["episode_id"] in episodes:
            found.setdefault(event["episode_id"], []).append(event)
    return found


def _version_row(version: PolicyVersion) -> dict[str, Any]:
    row, policy = version.row, version.after
    return {
        "version": row.version,
        "at": row.at if row.at is not None else row.ts,
        "by": row.by,
        "why": row.why,
        "ignored": version.ignored,
        "mode": str(policy.mode),
        "rules": _names(policy),
    }


def _names(policy: Policy) -> list[str]:
    return [rule.name for rule in policy.rules]


def _shown(outcome: InterventionOutcome, board: LiveBoard, now: int) -> dict[str, Any]:
    first = outcome.decided
    return {
        "session_id": first.done.session_id,
        "rule": first.done.rule,
        "version": first.done.version,
        "live": first.done.live,
        "steps": [
            {"action": each.action, "at": each.done.at, "state": _state(each, board, now)}
            for each in outcome.steps
        ],
        "at": first.done.at,
        "why": first.why,
        "fate": str(outcome.fate),
        "is_over": outcome.is_over,
        "records": outcome.records,
        "tokens": outcome.tokens,
        "cost": outcome.cost,
    }


def _state(step: Decided, board: LiveBoard, now: int) -> str:
    """Return how far a step has come: claimed, failed, or as far as its command; empty in a dry run."""
    match step.carried:
        case Carried.NOT:
            return ""
        case Carried.ISSUED:
            case = board.model.cases.get(step.done.session_id)
            row = None if case is None else case.commands.get(step.command_id)
            if case is None or row is None:
                return "asked"
            acks = [ack for ack in case.acks.values() if ack.command_id == step.command_id]
            return str(stages(row, acks, now)[-1]["stage"])
        case Carried.CLAIMED:
            return "not asked yet"
        case Carried.FAILED:
            return "not asked"

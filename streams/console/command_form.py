"""What an action asks for, read from a form or from JSON: commands to agents, and triage of episodes."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import orjson
from eddy_client.protocol import LONGEST_MS, MINUTE_MS, Action, OnTimeout, Scope

from streams.console.read_model.triage import EpisodeSeen, request_of
from streams.control.audit import AuditKind, AuditRecord, Result
from streams.control.command import Cause, Command, Issuer, MalformedError
from streams.control.label import Label, LabelWord
from streams.control.rules import checked
from streams.core.domain.text.printable import printable
from streams.core.errors import ConfigurationError

MOST_AT_ONCE: Final = 1_000
"""Sessions, or episodes, of one action."""

UNCONFIRMED: Final = 5
"""More sessions than that need their number in the field `confirm`."""

SHORTEST_REASON: Final = 10
LONGEST_REASON: Final = 1_000

#: A pause does not end by itself unless its end was chosen: it stands as long as a command may.
_DEFAULTS_MS: Final[Mapping[str, int]] = {Action.PAUSE: LONGEST_MS}
_DEFAULT_MS: Final = 30 * MINUTE_MS
_SNOOZE_MS: Final = 60 * MINUTE_MS
_LONGEST_TEXT: Final = 1_000
_LONGEST_NAME: Final = 200
_TRIAGE: Final = ("ack", "unack", "snooze", "assign", "note", *LabelWord)
_RECOVERED: Final = "recovered"
_NO_ONE: Final = "-"
_SPAN: Final = re.compile(r"([0-9]{1,6})([mhd])")
_UNITS_MS: Final = {"m": MINUTE_MS, "h": 60 * MINUTE_MS, "d": 1_440 * MINUTE_MS}


class LabelFacts(NamedTuple):
    """What is known of an alert that a person labels."""

    session_id: str
    agent_id: str | None = None
    rule: str | None = None
    level: str | None = None
    tools: tuple[str, ...] = ()


Form = Mapping[str, Sequence[str]]
"""The fields of a form, each with its values."""


def form_of(document: object) -> Form:
    """Return a JSON object as the fields of a form; what is null is left out.

    >>> form_of({"action": "pause", "session_ids": ["a", "b"], "ttl_ms": 900000, "message": None})
    {'action': ['pause'], 'session_ids': ['a', 'b'], 'ttl_ms': ['900000']}

    Raises:
        ConfigurationError: it is no object.
    """
    if not isinstance(document, Mapping):
        raise ConfigurationError("The body is no JSON object. Send the fields of the action as one.")
    return {
        name: [_text(each) for each in (value if isinstance(value, list) else [value])]
        for name, value in document.items()
        if value is not None
    }


def _text(value: object) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode()


@dataclass(frozen=True, slots=True, kw_only=True)
class Who:
    """Who acts, when, and with which ids.

    Attributes:
        issuer: Name of the operator.
        now: Time of the call, in milliseconds since 1970.
        new_id: Makes an id that nothing else has.
    """

    issuer: Issuer
    now: int
    new_id: Callable[[], str]


def commands_of(form: Form, who: Who, live: Callable[[str | None], int]) -> list[Command]:
    """Return the commands that a form asks for, one for each session.

    Args:
        form: The fields of CONSOLE `/actions/commands`.
        who: Operator who sends the form.
        live: How many sessions of an agent are live, or of all for None.

    Raises:
        ConfigurationError: names the field that is wrong; nothing is to be sent.
    """
    scope, action = one(form, "scope") or Scope.SESSION, one(form, "action") or ""
    sessions: list[str | None] = [*dict.fromkeys(each for each in form.get("session_ids", ()) if each)]
    agent_id = one(form, "agent_id")
    if scope == Scope.SESSION:
        _some(len(sessions), "session_ids", "sessions")
        _confirmed(form, len(sessions))
    elif sessions:
        raise ConfigurationError(
            "A hold names no sessions: leave session_ids out, or take the scope session."
        )
    else:
        sessions = [None]
        if action == Action.PAUSE:
            _hold_confirmed(form, live(agent_id if scope == Scope.AGENT else None))
    return [
        checked(
            Command(
                command_id=who.new_id(),
                scope=scope,
                action=action,
                issued_at=who.now,
                expires_at=who.now + _whole(form, "ttl_ms", _DEFAULTS_MS.get(action, _DEFAULT_MS)),
                reason=(one(form, "reason") or "").strip(),
                issuer=who.issuer,
                session_id=session_id,
                agent_id=agent_id if scope == Scope.AGENT else None,
                on_timeout=_on_timeout(form, action),
                message=one(form, "message") if action == Action.INJECT_MESSAGE else None,
                steps_budget=_optional(form, "steps_budget"),
                tokens_budget=_optional(form, "tokens_budget"),
                cause=_cause(form),
            )
        )
        for session_id in sessions
    ]


def triage_of(form: Form, who: Who, seen: Callable[[str], EpisodeSeen]) -> list[AuditRecord]:
    """Return the audit records of a triage action, one for each episode. They are the action itself.

    Args:
        form: The fields of CONSOLE `/actions/triage`.
        who: Operator who sends the form.
        seen: How an episode is now.

    Raises:
        ConfigurationError: names the field that is wrong; nothing is to be written.
    """
    episodes = [*dict.fromkeys(each for each in form.get("episode_ids", ()) if each)]
    _some(len(episodes), "episode_ids", "episodes")
    do = one(form, "do")
    if do is None or do not in _TRIAGE:
        raise ConfigurationError(f"Choose one of {', '.join(_TRIAGE)} in the field do.")
    more = _details(form, do, who)
    return [
        AuditRecord(
            id=who.new_id(),
            at=who.now,
            who=who.issuer.name,
            role=who.issuer.role,
            via=who.issuer.via,
            kind=AuditKind.TRIAGE,
            target=episode,
            why=_short(form, "note", _LONGEST_TEXT) or None,
            request=request_of(do, seen(episode), **more),
            result=Result.ACCEPTED,
        )
        for episode in episodes
    ]


def labels_of(records: Sequence[AuditRecord], do: str, about: Callable[[str], LabelFacts]) -> list[Label]:
    """Return what triage says of alerts; nothing if it says neither that one is a loop nor that it is none.

    Args:
        records: The audit records of the action.
        do: What the action does.
        about: Returns what is known of an episode, or of session/ and a session.
    """
    if do not in tuple(LabelWord):
        return []
    return [
        Label(
            subject=each.target or "",
            label=do,
            at=each.at,
            who=each.who,
            via=each.via,
            why=each.why,
            **about(each.target or "")._asdict(),
        )
        for each in records
    ]


def _details(form: Form, do: str, who: Who) -> dict[str, str | float | None]:
    match do:
        case "snooze":
            tokens = _optional(form, "until_tokens")
            return {"until": _until(form, who.now, has_tokens=tokens is not None), "until_tokens": tokens}
        case "assign":
            given = _short(form, "assignee", _LONGEST_NAME) or who.issuer.name
            return {"assignee": "" if given == _NO_ONE else given}
        case "note":
            return {"note": _short(form, "note", _LONGEST_TEXT)}
    return {}


def _until(form: Form, now: int, *, has_tokens: bool) -> int | None:
    """Return when a snooze ends: a time in ms, so much later, or never by time alone."""
    given = one(form, "until")
    if given == _RECOVERED or (given is None and has_tokens):
        return None
    if given is None:
        return now + _SNOOZE_MS
    if (span := _SPAN.fullmatch(given)) is not None:
        return now + int(span[1]) * _UNITS_MS[span[2]]
    until = _whole(form, "until", 0)
    if until <= now:
        raise ConfigurationError("The field until is in the past: give 15m, 1h, recovered, or a later time.")
    return until


def _on_timeout(form: Form, action: str) -> str | None:
    return (one(form, "on_timeout") or OnTimeout.RESUME) if action == Action.PAUSE else None


def _cause(form: Form) -> Cause | None:
    given = one(form, "cause")
    if given is None:
        return None
    if not given.lstrip().startswith("{"):
        return Cause(episode_id=_short(form, "cause", _LONGEST_NAME))
    try:
        return Cause.of(_object(given))
    except MalformedError as error:
        raise ConfigurationError(f"The field cause is not that of an alert: {error}.") from error


def _object(text: str) -> Mapping[str, object]:
    try:
        document = orjson.loads(text)
    except orjson.JSONDecodeError:
        document = None
    if not isinstance(document, dict):
        raise MalformedError("it must be a JSON object")
    return document


def _some(count: int, field: str, what: str) -> None:
    if not count:
        raise ConfigurationError(f"Name 1 to {MOST_AT_ONCE:,} {what} in the field {field}.")
    if count > MOST_AT_ONCE:
        raise ConfigurationError(
            f"{count:,} {what} are too many for one action: {MOST_AT_ONCE:,} are possible. Narrow it."
        )


def _confirmed(form: Form, count: int) -> None:
    """Refuse an action on many that was not confirmed by their number."""
    if count > UNCONFIRMED and _optional(form, "confirm") != count:
        raise ConfigurationError(f"This is about {count:,} sessions: type {count} in the field confirm.")


def _hold_confirmed(form: Form, count: int) -> None:
    """Refuse a hold that was not confirmed by the number of live sessions, which changes while one types."""
    typed = _optional(form, "confirm")
    if typed is None or abs(typed - count) > max(2, count // 10):
        raise ConfigurationError(
            f"This holds {count:,} live sessions, and all to come: type {count} in the field confirm."
        )


def one(form: Form, name: str) -> str | None:
    """Return a field that has one value; an empty one counts as left out."""
    values = [each for each in form.get(name, ()) if each != ""]
    if len(values) > 1:
        raise ConfigurationError(f"The field {name} is there {len(values)} times: give it once.")
    return values[0] if values else None


def _short(form: Form, name: str, longest: int) -> str:
    value = (one(form, name) or "").strip()
    if len(value) > longest:
        raise ConfigurationError(f"The field {name} has {len(value):,} characters: {longest:,} are possible.")
    return value


def _optional(form: Form, name: str) -> int | None:
    given = one(form, name)
    if given is None:
        return None
    digits = given.replace(",", "").strip()
    if not re.fullmatch(r"[0-9]{1,18}", digits):
        raise ConfigurationError(f"The field {name} must be a whole number.")
    return int(digits)


def _whole(form: Form, name: str, default: int) -> int:
    given = _optional(form, name)
    return default if given is None else given


def why_of(form: Form) -> str:
    """Return why a change is made.

    Raises:
        ConfigurationError: that is not said, or too short.
    """
    why = (one(form, "why") or "").strip()
    if not SHORTEST_REASON <= len(why) <= LONGEST_REASON:
        raise ConfigurationError(
            f"Say why, in {SHORTEST_REASON} to {LONGEST_REASON:,} characters: history and audit keep it."
        )
    return why


def based_on_of(form: Form) -> int:
    """Return the version that was in force for who makes a change.

    Raises:
        ConfigurationError: it is none.
    """
    text = one(form, "based_on") or ""
    if not (text.isascii() and text.isdecimal() and len(text) < 17):
        raise ConfigurationError(
            f'"{printable(text, 40)}" is no version: based_on is the version in force that you looked at.'
        )
    return int(text)

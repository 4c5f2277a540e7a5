"""An episode: one loop from where it was noticed to where it ended, and its re-arm (specification 6.8)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

from streams.core.detectors.verdict.settings import VerdictSettings
from streams.core.detectors.verdict.standing import Standing
from streams.core.detectors.verdict.state import RECENT, VerdictState, any_polling
from streams.core.detectors.verdict.streak import Moment
from streams.core.domain.level import Level
from streams.core.domain.text.digest import digest

# Key of a rule to [number of the last record that fired with it, episode of that record], oldest first.
Keys = Mapping[str, Sequence[Any]]


def within(keys: Keys, number: int, window: int) -> Keys:
    """Return the keys of records that are in the window together with the record of this number.

    >>> within({"old": [4, "e1"], "new": [5, "e2"]}, number=10, window=6)
    {'new': [5, 'e2']}
    """
    if not keys or next(iter(keys.values()))[0] > number - window:
        return keys
    return {key: last for key, last in keys.items() if last[0] > number - window}


def remembering(keys: Keys, key: str, number: int, episode_id: str) -> Keys:
    """Return the keys after a record fired with one of them."""
    others = {name: last for name, last in keys.items() if name != key}
    others[key] = [number, episode_id]
    return others


def key_of(standing: Standing, state: VerdictState) -> str:
    """Return what makes two firings of a rule the same pattern, as a digest.

    R1: the signature. R2: the signatures of the cycle in any order; of a longer one its period. R7: every
    one is the same, for its records come in no order. R9: the tool.
    """
    match standing.rule:
        case "R1":
            about = [state.signature]
        case "R2" if (standing.period or 1) <= RECENT:
            about = sorted(state.newest_signatures(standing.period or 1))
        case "R2":
            about = [str(standing.period)]
        case "R9":
            about = [state.tools[-1] or ""]
        case _:
            about = []
    return digest("\0".join([standing.rule, *about])) or ""


class Phase(StrEnum):
    """What became of an episode with a record."""

    OPENED = "opened"
    ESCALATED = "escalated"
    STILL_OPEN = "still_open"
    RECOVERED = "recovered"


class Episode(NamedTuple):
    """The open episode of a session. Its level never falls; it ends only by recovery.

    Attributes:
        id: digest of session, partition and offset of the record that opened it the first time.
        level: the highest so far, WARNING or LOOP.
        reopened: whether it had recovered before and its pattern came back.
        opened, looped: number of the step with which it opened and reached LOOP; ``looped`` is 0
            below LOOP.
        quiet: steps in a row at which no rule fired; those that wait are not counted.
        onset: first record of the pattern it opened with.
        rule, period, counted, tools, signatures: evidence, of the newest record with at least its level. A
            cycle names each record of one repetition, oldest first, at most the newest `RECENT`; other rules
            the newest record.
        stuck: evidence of R7, its score and the kinds of steps since the onset; None for other rules.
    """

    id: str
    level: str
    reopened: bool
    opened: int
    looped: int
    quiet: int
    onset: Moment
    rule: str
    period: int | None
    counted: int
    tools: Sequence[str]
    signatures: Sequence[str]
    stuck: Mapping[str, Any] | None = None


_WARNING, _LOOP = Level.WARNING.value, Level.LOOP.value


def id_of(session_id: str, partition: int, offset: int) -> str:
    """Return the id of an episode that opens with the record at this place."""
    return digest(f"{session_id}|{partition}|{offset}") or ""


def opened(state: VerdictState, standing: Standing, raw: str, id_if_new: str) -> Episode:
    """Open an episode, or an old one again whose key is still in the window.

    Args:
        state: after the record, its keys without the record's own.
        standing: the rule that gives the raw level.
        raw: raw level of the record, WARNING or LOOP.
        id_if_new: id of an episode that opens the first time, `id_of` the record.
    """
    last = state.keys.get(key_of(standing, state))
    looped = state.steps if raw == _LOOP else 0
    id_ = id_if_new if last is None else last[1]
    onset = standing.onset or state.newest
    evidence = _evidence(state, standing)
    return Episode(id_, raw, last is not None, state.steps, looped, 0, onset, *evidence)


def followed(
    episode: Episode, state: VerdictState, standing: Standing | None, raw: str, settings: VerdictSettings
) -> tuple[Episode, Phase | None]:
    """Follow an open episode to the newest judged record; say what there is to tell.

    Args:
        episode: as it was before the record.
        state: the verdict's state after the record.
        standing: the rule that gives the raw level, None when no rule fired.
        raw: raw level of the record, NORMAL when no rule fired.
        settings: the settings in force.
    """
    if standing is None:
        # Nothing is over while the agent waits.
        episode = episode._replace(quiet=episode.quiet + (not any_polling(state.outcomes[-1])))
        if episode.quiet >= settings.recover_records:
            return episode, Phase.RECOVERED
    else:
        episode = episode._replace(quiet=0)
        if raw == _LOOP or episode.level == _WARNING:
            episode = Episode(*episode[:7], *_evidence(state, standing))
        if raw == _LOOP and episode.level == _WARNING:
            return episode._replace(level=_LOOP, looped=state.steps), Phase.ESCALATED
    since, beat = state.steps - episode.looped, settings.alert_heartbeat_records
    if episode.looped and beat and since % beat == 0:
        return episode, Phase.STILL_OPEN
    return episode, None


def _evidence(
    state: VerdictState, standing: Standing
) -> tuple[str, int | None, int, Sequence[str], Sequence[str], Mapping[str, Any] | None]:
    size = min(standing.period or 1, RECENT)
    tools = [tool or "" for tool in state.tools[-size:]]
    signatures = state.newest_signatures(size)
    stuck = {"score": standing.measure, "kinds": state.stuck[3]} if standing.rule == "R7" else None
    return standing.rule, standing.period, standing.count, tools, signatures, stuck

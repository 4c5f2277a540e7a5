"""Automatic policies: when the console would act on a loop by itself, and why it holds back. Pure.

A policy is a document of rules. `decide` asks them about one published event of an episode; the first that is
about it decides. What a rule did before comes in as a tally, so that every console decides alike, and again
after a restart.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum, unique
from typing import Final, NamedTuple

from streams.core.domain.text.glob import Globs

_TEN_MINUTES_MS: Final = 600_000


@unique
class Mode(StrEnum):
    """What comes of a decision."""

    OFF = "off"
    """Nothing is decided."""
    DRY_RUN = "dry_run"
    """The audit says what would have been done; no agent is told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class When:
    """Which events a rule is about. An empty list is about all; patterns are shell-style.

    ``phase`` and ``level`` are those of the event, ``rules`` those of the verdict; tokens and cost are since
    the loop began.
    """

    phase: tuple[str, ...] = ()
    level: str | None = None
    rules: tuple[str, ...] = ()
    min_tokens_since_onset: float | None = None
    min_cost_since_onset: float | None = None
    agents: tuple[str, ...] = ()
    task_types: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Do:
    """What a rule asks for: ``pause`` for at most ``ttl_ms``, or a fixed ``message`` to the agent."""

    action: str
    ttl_ms: int = 1_800_000
    on_timeout: str = "resume"
    message: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much a rule may do: for an episode, in ten minutes, and as a share of the sessions that are live.

    One session is never too large a share.
    """

    per_episode: int = 1
    per_10_min: int = 10
    max_share_of_live: float = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A rule by name."""

    name: str
    when: When
    do: Do
    limits: Limits = Limits()


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The rules in their order."""

    version: int = 0
    mode: Mode = Mode.OFF
    rules: tuple[Rule, ...] = ()


class EpisodeEvent(NamedTuple):
    """A published event of an episode, and when the broker got it (ms)."""

    episode_id: str
    session_id: str
    agent_id: str
    task_type: str | None
    phase: str
    level: str
    rule: str
    tokens: float
    cost: float | None
    at: int


class Done(NamedTuple):
    """What a rule did before: for which episode and session, when (ms), and whether a limit held it back."""

    rule: str
    episode_id: str
    session_id: str
    at: int
    withheld: bool = False


class PolicyTally(NamedTuple):
    """What there was under this version of the policy, and how many sessions are live now."""

    done: Sequence[Done]
    live: int


class InterventionAct(NamedTuple):
    """The rule asks for its action."""

    rule: Rule
    command_id: str


class Withheld(NamedTuple):
    """The rule is about the event, and a limit holds it back: its breaker is open from now on."""

    rule: Rule
    command_id: str
    why: str


def decide(policy: Policy, event: EpisodeEvent, tally: PolicyTally) -> InterventionAct | Withheld | None:
    """Return what the first rule that is about an event asks for; None if none is, or it has acted already.

    A limit that was reached opens the breaker of its rule: it acts no more until another version of the
    policy is published.
    """
    if policy.mode is Mode.OFF:
        return None
    rule = next((each for each in policy.rules if _is_about(each.when, event)), None)
    if rule is None:
        return None
    before = [each for each in tally.done if each.rule == rule.name]
    of_episode = [each for each in before if each.episode_id == event.episode_id]
    if sum(not each.withheld for each in of_episode) >= rule.limits.per_episode:
        return None
    command_id = command_id_of(rule, event.episode_id)
    opened = next((each for each in before if each.withheld), None)
    if opened is not None:
        return None if of_episode else Withheld(rule, command_id, "its breaker is open")
    # Events of two partitions may come out of order: one that is later and came first counts, too.
    recent = sum(each.at > event.at - _TEN_MINUTES_MS for each in before)
    if recent >= rule.limits.per_10_min:
        return Withheld(rule, command_id, f"it decided {recent} times in ten minutes, which is its limit")
    held = {each.session_id for each in before if each.at > event.at - rule.do.ttl_ms} | {event.session_id}
    if len(held) > max(1.0, rule.limits.max_share_of_live * tally.live):
        share = f"{rule.limits.max_share_of_live:.0%}"
        return Withheld(
            rule, command_id, f"{len(held)} of {tally.live} live sessions would be more than {share}"
        )
    return InterventionAct(rule, command_id)


def command_id_of(rule: Rule, episode_id: str) -> str:
    """Return the id of what a rule asks for about an episode: the same in every console, at any time."""
    parts = (rule.name, episode_id, rule.do.action)
    return hashlib.blake2b("\0".join(parts).encode("utf-8", "replace"), digest_size=16).hexdigest()


def _is_about(when: When, event: EpisodeEvent) -> bool:
    return (
        (not when.phase or event.phase in when.phase)
        and (when.level is None or event.level == when.level)
        and (not when.rules or event.rule in when.rules)
        and (when.min_tokens_since_onset is None or event.tokens >= when.min_tokens_since_onset)
        and (when.min_cost_since_onset is None or (event.cost or 0.0) >= when.min_cost_since_onset)
        and (not when.agents or Globs(when.agents).match(event.agent_id))
        and (not when.task_types or Globs(when.task_types).match(event.task_type or ""))
    )

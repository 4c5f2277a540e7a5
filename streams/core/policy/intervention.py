"""Automatic policies: when the console acts on a loop by itself, and why it holds back. Pure.

A policy is a document of rules. `decide` asks them about one published event of an episode; the first that is
about it decides, and stays with that episode: it climbs its ladder, a step at a time. What was done before
comes in as a tally, so that every console decides alike, and again after a restart.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum, unique
from typing import Final, NamedTuple

from streams.core.domain.text.glob import Globs

_TEN_MINUTES_MS: Final = 600_000
_HOUR_MS: Final = 3_600_000


PHASES: Final = ("opened", "escalated", "still_open")
"""Phases of an event that a rule may be about: nothing is done about a loop that is over."""


@unique
class Mode(StrEnum):
    """What comes of a decision."""

    OFF = "off"
    """Nothing is decided."""
    DRY_RUN = "dry_run"
    """The audit says what would have been done; no agent is told."""
    LIVE = "live"
    """Agents are told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class When:
    """Which events a rule is about. An empty list is about all; patterns are shell-style.

    ``phase`` and ``level`` are those of the event, ``rules`` those of the verdict; tokens, cost and minutes
    are since the loop began, minutes by the time of the agent. One of ``tools`` has to repeat.

    With ``spending`` a rule is not about loops, but about sessions that overspend by one of these measures.
    Tokens and cost are then those of the whole session, minutes since it reached the limit.
    """

    phase: tuple[str, ...] = ()
    level: str | None = None
    rules: tuple[str, ...] = ()
    min_tokens_since_onset: float | None = None
    min_cost_since_onset: float | None = None
    min_minutes_since_onset: float | None = None
    agents: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    task_types: tuple[str, ...] = ()
    spending: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Do:
    """A step of a ladder.

    Attributes:
        action: inject_message, pause or abort.
        after_records: so many records later in the loop than the step before; of the first step 0.
        ttl_ms: how long a pause lasts at most, and how long the others count.
        on_timeout: what comes of a pause at its end.
        message: to the agent; None of inject_message is the note that Eddy writes.
        quote_tools: whether that note may have names of tools, which an agent may have written.
    """

    action: str
    after_records: int = 0
    ttl_ms: int = 1_800_000
    on_timeout: str = "resume"
    message: str | None = None
    quote_tools: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much a rule may do: in ten minutes, and as a share of the sessions that are live.

    One session is never too large a share.
    """

    per_10_min: int = 10
    max_share_of_live: float = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyLimits:
    """How many steps all rules together may take within an hour: in all, and for one agent."""

    per_hour: int = 60
    per_hour_per_agent: int = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A rule by name. ``do`` is its ladder, of one step or more."""

    name: str
    when: When
    do: tuple[Do, ...]
    limits: Limits = Limits()


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The rules in their order."""

    version: int = 0
    mode: Mode = Mode.OFF
    rules: tuple[Rule, ...] = ()
    limits: PolicyLimits = PolicyLimits()


class EpisodeEvent(NamedTuple):
    """A published event of an episode, and when the broker got it (ms).

    ``records``, ``tokens``, ``cost`` and ``minutes`` are since the loop began. ``tools`` repeat. Of a session
    that overspends, ``rule`` is the measure, and tokens and cost are those of the whole session.
    """

    episode_id: str
    session_id: str
    agent_id: str
    task_type: str | None
    phase: str
    level: str
    rule: str
    tools: tuple[str, ...]
    records: int
    tokens: float
    cost: float | None
    minutes: float
    at: int
    spending: bool = False


@unique
class Breaker(StrEnum):
    """What stands still once a limit was reached, until another version of the policy is published."""

    NONE = "none"
    RULE = "rule"
    AGENT = "agent"
    """All rules, for the agent of the session."""
    ALL = "all"


class Done(NamedTuple):
    """What a rule did before.

    Attributes:
        rule, version, live: Its name, the version of its policy, and whether agents were told.
        episode_id, session_id, agent_id: What it was done about.
        at: when the broker got the event (ms).
        step: which step of the ladder.
        records: of the episode at that step.
        opened: what a limit that held it back has opened; NONE if it was done.
        failed: whether nothing came of it. It counts for the limits, and its step may be taken again.
    """

    rule: str
    version: int
    live: bool
    episode_id: str
    session_id: str
    agent_id: str
    at: int
    step: int = 0
    records: int = 0
    opened: Breaker = Breaker.NONE
    failed: bool = False

    @property
    def withheld(self) -> bool:
        """Whether a limit held it back."""
        return self.opened is not Breaker.NONE


class PolicyTally(NamedTuple):
    """What was done before, in its order, and how many sessions are live now."""

    done: Sequence[Done]
    live: int


class InterventionAct(NamedTuple):
    """The rule asks for a step of its ladder."""

    rule: Rule
    step: int
    command_id: str

    @property
    def do(self) -> Do:
        """The step."""
        return self.rule.do[self.step]


class Withheld(NamedTuple):
    """The rule would take a step, and a limit holds it back: a breaker is open from now on."""

    rule: Rule
    step: int
    command_id: str
    why: str
    opened: Breaker

    @property
    def do(self) -> Do:
        """The step."""
        return self.rule.do[self.step]


def decide(policy: Policy, event: EpisodeEvent, tally: PolicyTally) -> InterventionAct | Withheld | None:
    """Return the step that is due about an event; None if none is.

    A limit that was reached opens a breaker: what it is about acts no more until another version of the
    policy is published. A step that an agent was told in an earlier version is not repeated by a later one.
    """
    if policy.mode is Mode.OFF or event.phase not in PHASES:
        return None
    before = [each for each in tally.done if each.version == policy.version]
    of_episode = [
        each
        for each in tally.done
        if each.episode_id == event.episode_id
        and (each.version == policy.version or (each.live and policy.mode is Mode.LIVE))
    ]
    climbed = [each for each in of_episode if not (each.withheld or each.failed)]
    rule = _responsible(policy, event, climbed)
    if rule is None:
        return None
    steps = [each for each in climbed if each.rule == rule.name]
    step = max((each.step + 1 for each in steps), default=0)
    if step >= len(rule.do) or not _is_due(rule.do[step], event, steps):
        return None
    command_id = command_id_of(rule, step, event.episode_id)
    held_back = _open_breaker(rule, event, before) or _reached_limit(policy, rule, event, before, tally.live)
    if held_back is None:
        return InterventionAct(rule, step, command_id)
    if any(each.withheld and each.version == policy.version for each in of_episode):
        return None  # once is enough to know
    why, opened = held_back
    return Withheld(rule, step, command_id, why, opened)


def _responsible(policy: Policy, event: EpisodeEvent, climbed: Sequence[Done]) -> Rule | None:
    """Return the rule that has acted on the episode, else the first that is about the event."""
    by_name = {rule.name: rule for rule in policy.rules}
    acting = next((by_name[each.rule] for each in reversed(climbed) if each.rule in by_name), None)
    return acting or next((each for each in policy.rules if _is_about(each.when, event)), None)


def _is_due(do: Do, event: EpisodeEvent, steps: Sequence[Done]) -> bool:
    if not steps:
        return True
    # One that was over and began again counts its records anew: the step before did not hold.
    reopened = event.records < steps[-1].records
    return reopened or event.records >= steps[-1].records + do.after_records


def _open_breaker(rule: Rule, event: EpisodeEvent, before: Sequence[Done]) -> tuple[str, Breaker] | None:
    for each in before:
        match each.opened:
            case Breaker.ALL:
                return "the breaker of the policy is open", Breaker.ALL
            case Breaker.AGENT if each.agent_id == event.agent_id:
                return "the breaker of its agent is open", Breaker.AGENT
            case Breaker.RULE if each.rule == rule.name:
                return "its breaker is open", Breaker.RULE
    return None


def _reached_limit(
    policy: Policy, rule: Rule, event: EpisodeEvent, before: Sequence[Done], live: int
) -> tuple[str, Breaker] | None:
    """Return the limit that one step more would exceed, and what that opens."""
    # Events of two partitions may come out of order: one that is later and came first counts, too.
    hour = [each for each in before if not each.withheld and each.at > event.at - _HOUR_MS]
    if len(hour) >= policy.limits.per_hour:
        return f"the policy took {len(hour)} steps within an hour, which is its limit", Breaker.ALL
    of_agent = sum(each.agent_id == event.agent_id for each in hour)
    if of_agent >= policy.limits.per_hour_per_agent:
        return f"its agent was told {of_agent} times within an hour, which is the limit", Breaker.AGENT
    ours = [each for each in before if each.rule == rule.name and not each.withheld]
    recent = sum(each.at > event.at - _TEN_MINUTES_MS for each in ours)
    if recent >= rule.limits.per_10_min:
        return f"it decided {recent} times in ten minutes, which is its limit", Breaker.RULE
    longest = max(each.ttl_ms for each in rule.do)
    held = {each.session_id for each in ours if each.at > event.at - longest} | {event.session_id}
    live = max(live, len(held))  # they are counted now and then, and these live for certain
    if len(held) > max(1.0, rule.limits.max_share_of_live * live):
        share = f"{rule.limits.max_share_of_live:.0%}"
        return f"{len(held)} of {live} live sessions would be more than {share}", Breaker.RULE
    return None


def command_id_of(rule: Rule, step: int, episode_id: str) -> str:
    """Return the id of a step about an episode: the same in every console, version and at any time."""
    parts = (rule.name, episode_id, rule.do[step].action, *([str(step)] if step else ()))
    return hashlib.blake2b("\0".join(parts).encode("utf-8", "replace"), digest_size=16).hexdigest()


def _is_about(when: When, event: EpisodeEvent) -> bool:
    if event.spending != bool(when.spending) or (when.spending and event.rule not in when.spending):
        return False
    return (
        (not when.phase or event.phase in when.phase)
        and (when.level is None or event.level == when.level)
        and (not when.rules or event.rule in when.rules)
        and (when.min_tokens_since_onset is None or event.tokens >= when.min_tokens_since_onset)
        and (when.min_cost_since_onset is None or (event.cost or 0.0) >= when.min_cost_since_onset)
        and (when.min_minutes_since_onset is None or event.minutes >= when.min_minutes_since_onset)
        and (not when.agents or Globs(when.agents).match(event.agent_id))
        and (not when.tools or any(map(Globs(when.tools).match, event.tools)))
        and (not when.task_types or Globs(when.task_types).match(event.task_type or ""))
    )

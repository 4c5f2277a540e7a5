"""What became of the sessions that a policy decided about, and whether a rule may go live. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from statistics import median
from typing import Final, NamedTuple

from streams.console.interventions.decided import Decided
from streams.console.interventions.versions import PolicyVersion
from streams.console.read_model.place import Fields
from streams.console.whatif import counterfactual
from streams.core.domain.level import Level
from streams.core.policy.intervention import Mode, Policy

RECOVERS_WITHIN: Final = 10
"""Records after which a recovery is no longer one that a pause would only have disturbed."""

_RECOVERED: Final = "recovered"
#: Its session was silent until its state was removed: how it would have continued is not known.
_EXPIRED: Final = "expired"


class Fate(StrEnum):
    """What the session did after the first step."""

    WENT_ON = "went_on"
    """It looped on."""
    RECOVERED = "recovered"
    """It found its way out within a few records: in a dry run, a pause would have been in vain."""
    OPEN = "open"
    """It is too early to say."""
    UNKNOWN = "unknown"
    """The episode is not held any more."""


class InterventionOutcome(NamedTuple):
    """What became of an episode after the first step about it.

    Attributes:
        steps: the steps that were taken, or would have been, in their order.
        fate: what the session did.
        records, tokens, cost: that it took since the first step, as far as the episode is known.
        is_over: whether the loop has ended, so that these are all that it took.
    """

    steps: tuple[Decided, ...]
    fate: Fate
    records: int
    tokens: float
    cost: float | None
    is_over: bool

    @property
    def decided(self) -> Decided:
        """The first step."""
        return self.steps[0]


class Score(NamedTuple):
    """The outcomes of a rule under a version of the policy, together.

    Tokens and cost are those of the sessions that looped on: what a session spent that found its way out was
    no waste. The cost is None if none of them told one.

    Attributes:
        live: whether agents were told.
        acted: episodes with a first step. One of which nothing came is none.
        went_on, recovered, open: how many of these have which fate.
        ended: episodes whose loop is over.
        records_until_over, tokens_until_over: of those, the median since the first step; None without any.
        withheld: how often a limit held a step back.
    """

    rule: str
    version: int
    live: bool
    acted: int = 0
    went_on: int = 0
    recovered: int = 0
    open: int = 0
    ended: int = 0
    records_until_over: float | None = None
    tokens_until_over: float | None = None
    withheld: int = 0
    tokens: float = 0
    cost: float | None = None


def outcomes(
    decisions: Iterable[Decided], events: Mapping[str, Iterable[Fields]]
) -> list[InterventionOutcome]:
    """Return what became of each episode that was decided about, newest first.

    Args:
        decisions: Decisions of policies, oldest first.
        events: Those of each episode, in any order.
    """
    episodes: dict[tuple[int, str, str], list[Decided]] = {}
    for each in decisions:
        if not (each.done.withheld or each.done.failed):
            key = each.done.version, each.done.rule, each.done.episode_id
            episodes.setdefault(key, []).append(each)
    found = [_outcome(tuple(steps), events.get(key[2], ())) for key, steps in episodes.items()]
    return found[::-1]


def _outcome(steps: tuple[Decided, ...], events: Iterable[Fields]) -> InterventionOutcome:
    first = steps[0]
    ordered = sorted(
        events, key=lambda each: (each["partition"], each["offset"], each["phase"] == _RECOVERED)
    )
    if not ordered:
        return InterventionOutcome(steps, Fate.UNKNOWN, 0, 0, None, is_over=False)
    course: list[Fields] = []
    for event in ordered:
        if (event["partition"], event["offset"]) > (first.partition, first.offset):
            course.append(event)
            if event["phase"] == _RECOVERED:
                break  # an episode that is reopened counts its records and tokens from there
    courses = [{"tokens_since_onset": first.tokens, "cost_since_onset": first.cost}]
    courses += [{name: each[name] for name in ("tokens_since_onset", "cost_since_onset")} for each in course]
    less = counterfactual(
        [{**each, "tokens_since_onset": each["tokens_since_onset"] or 0} for each in courses]
    )
    records = max(0, course[-1]["records"] - first.done.records) if course else 0
    is_over = bool(course) and course[-1]["phase"] == _RECOVERED and course[-1]["reason"] != _EXPIRED
    by_then = Fate.RECOVERED if is_over else Fate.OPEN
    fate = Fate.WENT_ON if records > RECOVERS_WITHIN else by_then
    return InterventionOutcome(steps, fate, records, max(0, less.tokens), less.cost, is_over)


def scores(decisions: Iterable[Decided], found: Sequence[InterventionOutcome]) -> list[Score]:
    """Return the score of each rule and version, the newest version first."""
    rows: dict[tuple[int, str], Score] = {}
    for each in decisions:
        done = each.done
        row = rows.setdefault((done.version, done.rule), Score(done.rule, done.version, done.live))
        rows[done.version, done.rule] = row._replace(withheld=row.withheld + done.withheld)
    for key, row in rows.items():
        ours = [each for each in found if (each.decided.done.version, each.decided.done.rule) == key]
        looped = [each for each in ours if each.fate is Fate.WENT_ON]
        over = [each for each in ours if each.is_over]
        costs = [each.cost for each in looped if each.cost is not None]
        rows[key] = row._replace(
            acted=len(ours),
            went_on=len(looped),
            recovered=sum(each.fate is Fate.RECOVERED for each in ours),
            open=sum(each.fate in (Fate.OPEN, Fate.UNKNOWN) for each in ours),
            ended=len(over),
            records_until_over=median(each.records for each in over) if over else None,
            tokens_until_over=median(each.tokens for each in over) if over else None,
            tokens=sum(each.tokens for each in looped),
            cost=round(sum(costs), 4) if costs else None,
        )
    return [rows[key] for key in sorted(rows, key=lambda each: (-each[0], each[1]))]


def without_steps(decisions: Iterable[Decided], events: Mapping[str, Iterable[Fields]]) -> Score:
    """Return what became of the loops on which no policy acted: what to compare with.

    Each counts from its first event at LOOP on. One of a dry run is among them, since nobody was told.

    Args:
        decisions: What policies have decided.
        events: Those of each episode, in any order.
    """
    told = {each.done.episode_id for each in decisions if each.done.live and not each.done.withheld}
    spans: list[tuple[int, float]] = []
    acted = 0
    for episode_id, found in events.items():
        ordered = sorted(found, key=lambda each: (each["partition"], each["offset"]))
        looping = [each for each in ordered if each["level"] == Level.LOOP and each["phase"] != _RECOVERED]
        if episode_id in told or not looping:
            continue
        acted += 1
        first = looping[0]
        over = next(
            (
                each
                for each in ordered
                if each["phase"] == _RECOVERED
                and each["reason"] != _EXPIRED
                and each["offset"] > first["offset"]
            ),
            None,
        )
        if over is not None:
            tokens = (over["tokens_since_onset"] or 0) - (first["tokens_since_onset"] or 0)
            spans.append((over["records"] - first["records"], max(0, tokens)))
    return Score(
        "",
        0,
        live=False,
        acted=acted,
        open=acted - len(spans),
        ended=len(spans),
        records_until_over=median(records for records, _ in spans) if spans else None,
        tokens_until_over=median(tokens for _, tokens in spans) if spans else None,
    )


def unproven(policy: Policy, versions: Iterable[PolicyVersion], board: Iterable[Score]) -> list[str]:
    """Return why a policy may not go live, a sentence for each rule that no dry run has shown.

    A rule is the same if it is about the same events and asks for the same: its limits may differ.

    Args:
        policy: The policy that is to be published.
        versions: The versions that were published before.
        board: The scores of all of these versions.
    """
    known = {(row.version, row.rule) for row in board if row.went_on + row.recovered > 0}
    shown = [
        (rule.name, rule.when, rule.do)
        for version in versions
        if not version.ignored and version.after.mode is not Mode.OFF
        for rule in version.after.rules
        if (version.after.version, rule.name) in known
    ]
    return [
        f"The rule {rule.name!r} has no scoreboard yet: publish it as dry_run, and wait until it has decided "
        "about an episode and it is known what the session did then."
        for rule in policy.rules
        if (rule.name, rule.when, rule.do) not in shown
    ]

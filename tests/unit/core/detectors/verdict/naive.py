"""The verdict by its definitions (specification 6): each time it looks back over the whole history.

Slow and without a state of bounded size: what the detector carries from record to record is counted here
anew from all records, each judged under the settings that were in force for it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from streams.core.detectors.settings import DetectionSettings
from streams.core.detectors.verdict.act import asks_a_person
from streams.core.detectors.verdict.answer import has_new_output, is_infrastructure
from streams.core.domain.decision import Decision
from streams.core.domain.number import r4
from streams.core.domain.text.digest import digest
from tests.unit.core.detectors.verdict.naive_seen import Seen
from tests.unit.core.detectors.verdict.naive_stuck import NaiveScore

LEVELS = ("NORMAL", "WARNING", "LOOP")
WAITING_GOES_ON = ("apart", "cancelled", "silent", "echo", "nothing_found", "idle")


@dataclass
class Fired:
    rule: str
    period: int | None
    count: int
    level: str
    first: Seen
    key: tuple[Any, ...]

    def block(self) -> dict[str, Any]:
        return {"rule": self.rule, "level": self.level, "count": self.count, "period": self.period}


@dataclass
class Episode:
    id: str
    level: str
    reopened: bool
    opened_at: int
    first: Seen
    evidence: dict[str, Any]
    looping_since: int | None = None
    quiet: int = 0


@dataclass
class Naive:
    """Judges one session, record by record.

    Attributes:
        records: all that were judged, those of rounds too.
        begin: how many of them were before a person spoke last.
    """

    records: list[Seen] = field(default_factory=list)
    begin: int = 0
    tokens_so_far: float = 0
    infra_streak: int = 0
    episode: Episode | None = None
    stuck: NaiveScore = field(default_factory=NaiveScore)

    def judge(
        self, decision: Decision, settings: DetectionSettings
    ) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        delta = decision.known.get("state_delta") or {}
        self.tokens_so_far += delta.get("tokens_consumed") or 0
        previous = self.records[-1] if self.records else None
        record = Seen(decision, settings, self.tokens_so_far, previous)
        why = self.why_not(record)
        if why not in (None, "round"):
            self.infra_streak += why == "infrastructure"
            return self.block(None, why=why), []

        self.infra_streak = 0
        record.joined = why == "round"
        if not record.joined and begins_anew(record):
            self.begin = len(self.records)
            self.stuck = NaiveScore()
        self.add(record)
        if record.joined:
            return self.block(None, why=why), []
        fired = [each for each in self.rules() if each.level != "NORMAL"]
        told = self.follow(fired)
        return self.block(fired), told

    def add(self, record: Seen) -> None:
        # The window is cut when a record comes, and what was cut does not come back.
        last_start = self.records[-1].window_start if self.records else 0
        self.records.append(record)
        window = record.settings.verdict_window
        record.window_start = max(last_start, len(self.records) - window)
        own_round = len(self.records) - 1
        while record.joined and self.records[own_round].joined:
            own_round -= 1
        compared = self.records[max(record.window_start, self.begin) : own_round]
        if record.joined and not round_of(record):
            head = self.records[own_round]
            compared = [each for each in compared if each.signature != head.signature]
        self.stuck.add(record, self.records[self.begin : -1], compared)
        if record.joined and record.points < 0:
            self.visible[-1].brought = True

    def why_not(self, record: Seen) -> str | None:
        settings, decision = record.settings, record.decision
        reasons = {
            "disabled": not settings.verdict_enabled,
            "system": decision.action.get("kind") == "system",
            "status": record.status not in settings.verdict_statuses,
            "empty": record.tool is None and not decision.intent and not record.result,
            "exempt": record.policy is not None and record.policy.mode == "exempt",
            "refused": decision.known["meta"].get("user_turn") == "refusal",
            "infrastructure": is_infrastructure(record.status, decision.result_text),
            "round": self.is_of_the_newest_round(record),
        }
        return next((why for why, applies in reasons.items() if applies), None)

    def is_of_the_newest_round(self, record: Seen) -> bool:
        if not self.records:
            return False
        newest = self.visible[-1]
        rounds = round_of(record), round_of(newest)
        return rounds[0] == rounds[1] if any(rounds) else record.at < newest.at

    @property
    def visible(self) -> list[Seen]:
        """The records that begin a round or have none."""
        return [each for each in self.records if not each.joined]

    @property
    def row(self) -> list[Seen]:
        """Those of them since a person spoke, over which rows and cycles are counted."""
        return [each for each in self.records[self.begin :] if not each.joined]

    # ---- the rules, each counted backwards from the newest record

    def rules(self) -> list[Fired]:
        newest = self.records[-1]
        rules = newest.settings.verdict_rules
        found = [self.identical(), *self.short_cycles(), *self.circle(), *self.stuck_fires(), *self.waiting()]
        return [each for each in found if each.rule in rules]

    def identical(self) -> Fired:
        newest, run = self.row[-1], self.run()
        level = level_of(run, *identical_limits(newest))
        return Fired("R1", 1, run, level, self.row[-run], ("R1", newest.signature))

    def run(self) -> int:
        row = self.row
        at = len(row) - 1
        while at > 0:
            record, earlier = row[at], row[at - 1]
            if record.signature != earlier.signature or record.moved or earlier.brought:
                break
            if (record.waits and record.policy is None) or record.pauses(record.gap, [record]):
                break
            at -= 1
        return len(row) - at

    def short_cycles(self) -> list[Fired]:
        row, found = self.row, []
        settings = row[-1].settings
        for period in range(2, min(settings.cycle_max_period, 5) + 1):
            equal, last = self.equal_to_a_period_earlier(period), row[-period:]
            if equal < period or len({each.signature for each in last}) < 2:
                continue
            if any(each.waits for each in last):
                continue
            count = equal // period + 1
            level = level_of(count, settings.cycle_warn, settings.cycle_loop)
            key = ("R2", *sorted(each.signature for each in last))
            found.append(Fired("R2", period, count, level, row[len(row) - equal - period], key))
        return found

    def equal_to_a_period_earlier(self, period: int) -> int:
        row = self.row
        at, number = len(row) - 1, 0
        while at >= period:
            record, block = row[at], row[at - period + 1 : at + 1]
            if record.signature != row[at - period].signature or record.waits or record.moved:
                break
            gaps = [record.gap, *(row[to].at - row[to - 1].at for to in range(at - period + 1, at))]
            if record.pauses(max(gaps), block) or record.brought:
                break
            at, number = at - 1, number + 1
        return number

    def circle(self) -> list[Fired]:
        row, settings = self.row, self.row[-1].settings
        circle: tuple[int, int, int, Seen] | None = None
        trail: list[str] = []
        for at, record in enumerate(row):
            if at and row[at - 1].brought:
                circle = None
            circle = circle_after(circle, record, trail[-60:])
            if not record.waits:
                trail.append(record.signature[:3])
        if circle is None:
            return []
        period, matched, missed, first = circle
        rounds = (matched + missed) // period + 1
        if rounds == 1 or period > settings.cycle_max_period:
            return []
        level = level_of(rounds, settings.cycle_warn, settings.cycle_loop)
        return [Fired("R2", period, rounds, level, first, ("R2", period))]

    def stuck_fires(self) -> list[Fired]:
        newest, raising, score = self.row[-1], self.stuck.raising, self.stuck.score
        if newest.points <= 0:
            return []
        level = level_of(r4(score), newest.settings.stuck_warn, newest.settings.stuck_loop)
        return [Fired("R7", None, len(raising), level, raising[0], ("R7",))]

    def waiting(self) -> list[Fired]:
        row, newest = self.row, self.row[-1]
        looks, first = 0, newest
        for at, record in enumerate(row):
            if record.kind == "waiting":
                begins = looks == 0
                anew = looks > 0 and record.fresh and has_new_output(record.text or "")
                looks = 1 if begins or anew else looks + 1
                if begins or anew:
                    first = record if anew or at == 0 else row[at - 1]
            elif record.kind not in WAITING_GOES_ON:
                looks = 0
        if newest.kind != "waiting" or looks < 3:
            return []
        settings = newest.settings
        minutes = max(0, newest.at - first.at) // 60_000
        level = level_of(minutes, settings.waiting_warn_minutes, settings.waiting_loop_minutes)
        return [Fired("R9", None, looks, level, first, ("R9", newest.tool))]

    # ---- the episode

    def follow(self, fired: list[Fired]) -> list[dict[str, Any]]:
        newest, now = self.records[-1], len(self.visible)
        settings = newest.settings
        strongest = max(fired, key=lambda each: LEVELS.index(each.level), default=None)
        episode = self.episode
        phase, reason = None, None
        if episode is None and strongest is not None:
            window = self.records[newest.window_start : -1]
            before = [each for each in window if each.key == strongest.key]
            decision = newest.decision
            id_ = digest(f"{decision.session_id}|{decision.partition}|{decision.offset}") or ""
            if before:
                id_ = before[-1].episode_id or ""
            evidence = self.evidence(strongest)
            episode = Episode(id_, strongest.level, bool(before), now, strongest.first, evidence)
            episode.looping_since = now if strongest.level == "LOOP" else None
            phase = "opened"
        elif episode is not None:
            episode.quiet = 0 if strongest is not None else episode.quiet + (newest.kind != "waiting")
            if strongest is not None and LEVELS.index(strongest.level) >= LEVELS.index(episode.level):
                episode.evidence = self.evidence(strongest)
            if strongest is None and episode.quiet >= settings.recover_records:
                phase, reason = "recovered", "quiet"
            elif strongest is not None and strongest.level == "LOOP" and episode.level == "WARNING":
                episode.level, episode.looping_since, phase = "LOOP", now, "escalated"
            elif episode.looping_since is not None and settings.alert_heartbeat_records:
                beats = (now - episode.looping_since) % settings.alert_heartbeat_records == 0
                phase = "still_open" if beats else None
        if episode is not None and strongest is not None:
            newest.key, newest.episode_id = strongest.key, episode.id
        self.episode = None if phase == "recovered" else episode
        return [] if episode is None or phase is None else [self.tell(episode, phase, reason)]

    def evidence(self, fired: Fired) -> dict[str, Any]:
        last = self.row[-min(fired.period or 1, 5) :]
        return {
            "rule": fired.rule,
            "period": fired.period,
            "count": fired.count,
            "tools": [each.tool or "" for each in last],
            "signatures": [each.signature for each in last],
            "stuck": {"score": self.stuck.score, "kinds": self.stuck.kinds} if fired.rule == "R7" else None,
        }

    def tell(self, episode: Episode, phase: str, reason: str | None) -> dict[str, Any]:
        return {
            "phase": phase,
            "level": episode.level,
            "episode_id": episode.id,
            "reason": reason,
            **self.figures(episode),
        }

    def figures(self, episode: Episode) -> dict[str, Any]:
        first, last = episode.first, self.visible[-1]
        known = first.cost is not None and last.cost is not None
        return {
            "reopened": episode.reopened,
            **episode.evidence,
            "first_offset": first.decision.offset,
            "first_timestamp": first.at,
            "last_offset": last.decision.offset,
            "last_timestamp": last.at,
            "records": len(self.visible) - episode.opened_at + 1,
            "tokens_since_onset": last.tokens_so_far - first.tokens_so_far,
            "cost_since_onset": r4(last.cost - first.cost) if known else None,
        }

    # ---- what is reported

    def block(self, fired: list[Fired] | None, why: str | None = None) -> dict[str, Any]:
        visible = fired is not None
        strongest = max(fired or [], key=lambda each: LEVELS.index(each.level), default=None)
        return {
            "visible": visible,
            "why": why,
            "raw": (strongest.level if strongest else "NORMAL") if visible else None,
            "level": self.episode.level if self.episode else "NORMAL",
            "rule": strongest and strongest.rule,
            "period": strongest and strongest.period,
            "count": strongest and strongest.count,
            "fired": [each.block() for each in fired] if fired is not None else None,
            "run": self.run() if visible else None,
            "repeat_distance": self.repeat_distance() if visible else None,
            "signature": self.records[-1].signature if visible else None,
            "infra_streak": self.infra_streak,
            "episode_id": self.episode.id if self.episode else None,
            "stuck": self.stuck_block() if visible else None,
            "episode": self.figures(self.episode) if self.episode else None,
        }

    def stuck_block(self) -> dict[str, Any]:
        newest = self.records[-1]
        return {
            "score": self.stuck.score,
            "kind": newest.kind,
            "points": newest.points,
            "refers_to": newest.refers_to,
        }

    def repeat_distance(self) -> int | None:
        newest, end = self.records[-1], len(self.records) - 1
        for at in reversed(range(max(newest.window_start, self.begin), end)):
            if self.records[at].signature == newest.signature:
                return end - at
        return None


def begins_anew(record: Seen) -> bool:
    turn = record.decision.known["meta"].get("user_turn")
    return turn not in (None, "", "approval") or (not record.failed and asks_a_person(record.tool))


def round_of(record: Seen) -> str | None:
    return record.decision.known["meta"].get("round_id") or None


def level_of(measure: float, warn: float, loop: float) -> str:
    return "LOOP" if measure >= loop else "WARNING" if measure >= warn else "NORMAL"


def identical_limits(record: Seen) -> tuple[int, int]:
    settings, policy = record.settings, record.policy
    if policy is not None and policy.mode == "limits":
        return policy.warn or 0, policy.loop or 0
    if policy is not None:
        warn = 10 if policy.warn is None else policy.warn
        return warn, max(warn, 20 if policy.loop is None else policy.loop)
    if record.is_acknowledged and not record.writes:
        return 10, 20
    if record.failed:
        return settings.identical_failing_warn, settings.identical_failing_loop
    return settings.identical_warn, settings.identical_loop


def circle_after(
    circle: tuple[int, int, int, Seen] | None, record: Seen, trail: Sequence[str]
) -> tuple[int, int, int, Seen] | None:
    """The circle after one more record: period, matched, missed, the record that opened it."""
    if record.waits or record.moved:
        return None
    digits = record.signature[:3]
    if circle is not None and not record.pauses(record.gap, [record]):
        period, matched, missed, first = circle
        if trail[-period] == digits:
            return period, matched + 1, missed, first
        if 6 * (missed + 1) <= matched:
            return period, matched, missed + 1, first
    period = next((back for back in range(1, len(trail) + 1) if trail[-back] == digits), 0)
    return (period, 1, 0, record) if period >= 6 else None

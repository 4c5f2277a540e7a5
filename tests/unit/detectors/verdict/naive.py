"""The verdict by its definitions (specification 6): each time it looks back over the whole history.

Slow and without a state of bounded size: what the detector carries from record to record is counted here
anew from all records, each judged under the settings that were in force for it.
"""

from dataclasses import dataclass, field
from typing import Any

from streams.detectors.settings import DetectionSettings
from streams.domain.decision import Decision
from streams.domain.infrastructure import is_infrastructure
from streams.domain.number import r4
from streams.domain.text.digest import digest
from streams.domain.text.tokens import jaccard, tokens
from tests.unit.detectors.verdict.naive_seen import Seen, policy_of, trivial
from tests.unit.detectors.verdict.naive_stalled import NaiveStalled
from tests.unit.detectors.verdict.naive_stuck import NaiveScore

LEVELS = ("NORMAL", "WARNING", "LOOP")


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
    """Judges one session, record by record."""

    records: list[Seen] = field(default_factory=list)
    tokens_so_far: float = 0
    infra_streak: int = 0
    episode: Episode | None = None
    stuck: NaiveScore = field(default_factory=NaiveScore)
    stalled: NaiveStalled = field(default_factory=NaiveStalled)

    def judge(
        self, decision: Decision, settings: DetectionSettings
    ) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        delta = decision.known.get("state_delta") or {}
        self.tokens_so_far += delta.get("tokens_consumed") or 0
        policy = policy_of(decision.action.get("tool_call") or None, settings)
        record = Seen(decision, settings, self.tokens_so_far, policy)
        why = self.why_not(record)
        if why is not None:
            self.infra_streak += why == "infrastructure"
            return self.block(None, why=why), []

        self.infra_streak = 0
        # The window is cut when a record comes, and what was cut does not come back.
        last_start = self.records[-1].window_start if self.records else 0
        self.records.append(record)
        record.window_start = max(last_start, len(self.records) - settings.verdict_window)
        self.stuck.add(record, self.records[record.window_start : -1])
        self.stalled.add(record, self.stuck.newest["kind"])
        fired = [each for each in self.rules() if each.level != "NORMAL"]
        told = self.follow(fired)
        return self.block(fired), told

    def why_not(self, record: Seen) -> str | None:
        settings, decision = record.settings, record.decision
        reasons = {
            "disabled": not settings.verdict_enabled,
            "system": decision.action.get("kind") == "system",
            "status": record.status not in settings.verdict_statuses,
            "empty": record.tool is None and not decision.intent and not record.result,
            "exempt": record.policy is not None and record.policy.mode == "exempt",
            "infrastructure": is_infrastructure(record.status, decision.result_text),
            "round": bool(round_of(decision))
            and bool(self.records)
            and round_of(decision) == round_of(self.records[-1].decision),
        }
        return next((why for why, applies in reasons.items() if applies), None)

    # ---- the rules, each counted backwards from the newest record

    def rules(self) -> list[Fired]:  # noqa: C901 - one rule after another
        newest = self.records[-1]
        settings = newest.settings
        found = []

        def count(
            rule: str, number: int, first: int, warn: int, loop: int, key: tuple[Any, ...], period: int | None
        ) -> None:
            level = "LOOP" if number >= loop else "WARNING" if number >= warn else "NORMAL"
            if rule in settings.verdict_rules:
                found.append(Fired(rule, period, number, level, self.records[first], (rule, *key)))

        end = len(self.records) - 1
        run = self.run()
        count("R1", run, end - run + 1, *self.identical_limits(newest), (newest.signature,), 1)

        for period in range(2, settings.cycle_max_period + 1):
            equal = self.equal_to_a_period_earlier(period)
            last = self.records[-period:]
            if equal < period or len({each.signature for each in last}) < 2:
                continue
            if any(each.polling for each in last):
                continue
            first = end - equal - period + 1
            key = tuple(sorted(each.signature for each in last))
            limits = settings.cycle_warn, settings.cycle_loop
            count("R2", equal // period + 1, first, *limits, key, period)

        failures = self.same_failures()
        if len({self.records[at].call for at in failures}) > 1:
            limits = settings.same_error_warn, settings.same_error_loop
            count("R3", len(failures), failures[0], *limits, (newest.tool, newest.result), None)

        row = self.row(self.may_have_same_result, self.has_same_result)
        if len({each.call for each in self.records[end - row + 1 :]}) > 1:
            limits = settings.same_result_warn, settings.same_result_loop
            count("R4", row, end - row + 1, *limits, (newest.tool, newest.result), None)

        row = self.row(self.may_be_near, self.is_near)
        if len({each.signature for each in self.records[max(0, end - row + 1) :]}) > 1:
            limits = settings.near_duplicate_warn, settings.near_duplicate_loop
            count("R5", row, end - row + 1, *limits, (newest.tool,), None)

        row = self.nothing_new()
        if row:
            limits = settings.nothing_new_warn, settings.nothing_new_loop
            count("R6", row, end - row + 1, *limits, (), None)

        raising, score = self.stuck.raising, self.stuck.newest["score"]
        if "R7" in settings.verdict_rules and self.stuck.newest["points"] > 0:
            level = "LOOP" if score >= settings.stuck_loop else "WARNING"
            level = level if score >= settings.stuck_warn else "NORMAL"
            found.append(Fired("R7", None, len(raising), level, raising[0], ("R7",)))

        count = self.stalled.count
        if "R8" in settings.verdict_rules and self.stalled.counts:
            level = "LOOP" if count >= settings.stalled_loop else "WARNING"
            level = level if count >= settings.stalled_warn else "NORMAL"
            found.append(Fired("R8", None, count, level, self.stalled.first, ("R8",)))
        return found

    def identical_limits(self, record: Seen) -> tuple[int, int]:
        settings, policy = record.settings, record.policy
        if policy is not None and policy.mode == "limits":
            return policy.warn or 0, policy.loop or 0
        if policy is not None:
            warn = 10 if policy.warn is None else policy.warn
            return warn, max(warn, 20 if policy.loop is None else policy.loop)
        if record.failed:
            return settings.identical_failing_warn, settings.identical_failing_loop
        return settings.identical_warn, settings.identical_loop

    def run(self) -> int:
        at = len(self.records) - 1
        while at > 0:
            record, earlier = self.records[at], self.records[at - 1]
            if record.signature != earlier.signature or record.spaced(earlier, [record]):
                break
            at -= 1
        return len(self.records) - at

    def equal_to_a_period_earlier(self, period: int) -> int:
        at, number = len(self.records) - 1, 0
        while at >= period:
            record, earlier = self.records[at], self.records[at - period]
            block = self.records[at - period + 1 : at + 1]
            if record.signature != earlier.signature or record.spaced(earlier, block):
                break
            at, number = at - 1, number + 1
        return number

    def same_failures(self) -> list[int]:
        """Places of the calls of the tool that failed alike one after another, oldest first."""
        newest = self.records[-1]
        if newest.tool is None or not newest.failed or not newest.result:
            return []
        streak = [len(self.records) - 1]
        for at in reversed(range(len(self.records) - 1)):
            record = self.records[at]
            if record.tool != newest.tool:
                continue
            later = self.records[streak[0]]
            in_window = at >= later.window_start
            if not in_window or not record.failed or record.result != newest.result:
                break
            if record.call != later.call and not self.alike(record, later):
                break
            streak.insert(0, at)
        return streak

    @staticmethod
    def alike(record: Seen, later: Seen) -> bool:
        """Whether R3 takes the calls for one attempt; words are kept only while it asks for them."""
        least = later.settings.same_error_similarity
        kept = tokens(record.arguments) if record.settings.same_error_similarity else set()
        return least == 0 or r4(jaccard(kept, tokens(later.arguments))) >= least

    def nothing_new(self) -> int:
        """Records in a row, each counted while R6 was on, whose signature was in the window before."""
        at = len(self.records) - 1
        while at > 0:
            record, earlier = self.records[at], self.records[at - 1]
            known = {each.signature for each in self.records[record.window_start : at]}
            if "R6" not in record.settings.verdict_rules or record.signature not in known:
                break
            if record.polling or record.spaced(earlier, [record]):
                break
            at -= 1
        return len(self.records) - 1 - at

    def row(self, may: Any, follows: Any) -> int:
        at = len(self.records) - 1
        if not may(self.records[at]):
            return 0
        while at > 0 and may(self.records[at - 1]) and follows(self.records[at], self.records[at - 1]):
            at -= 1
        return len(self.records) - at

    @staticmethod
    def may_have_same_result(record: Seen) -> bool:
        if record.tool is None or record.failed or record.polling or not record.result:
            return False
        return not trivial(record.result) and not record.changes_things()

    @staticmethod
    def has_same_result(record: Seen, earlier: Seen) -> bool:
        same = record.tool == earlier.tool and record.result == earlier.result
        return same and not record.spaced(earlier, [record])

    @staticmethod
    def may_be_near(record: Seen) -> bool:
        return record.tool is not None and not record.polling and not record.progressed

    @staticmethod
    def answers(record: Seen, earlier: Seen) -> bool:
        """Whether the result has a word that is new in the call, and a new one that the call has not."""
        asked, told = tokens(record.arguments), tokens(record.result)
        new = told - tokens(earlier.result)
        return bool(new & (asked - tokens(earlier.arguments))) and bool(new - asked)

    def is_near(self, record: Seen, earlier: Seen) -> bool:
        least = record.settings.near_duplicate_similarity
        return (
            not self.answers(record, earlier)
            and (record.tool, record.status) == (earlier.tool, earlier.status)
            and r4(jaccard(tokens(record.arguments), tokens(earlier.arguments))) >= least
            and r4(jaccard(tokens(record.result), tokens(earlier.result))) >= least
            and record.content_hash in (None, earlier.content_hash)
            and not record.spaced(earlier, [record])
        )

    # ---- the episode

    def follow(self, fired: list[Fired]) -> list[dict[str, Any]]:
        newest, now = self.records[-1], len(self.records)
        settings = newest.settings
        strongest = max(fired, key=lambda each: LEVELS.index(each.level), default=None)
        episode = self.episode
        phase, reason = None, None
        if episode is None and strongest is not None:
            before = [each for each in self.records[newest.window_start : -1] if each.key == strongest.key]
            decision = newest.decision
            id_ = digest(f"{decision.session_id}|{decision.partition}|{decision.offset}") or ""
            if before:
                id_ = before[-1].episode_id or ""
            evidence = self.evidence(strongest)
            episode = Episode(id_, strongest.level, bool(before), now, strongest.first, evidence)
            episode.looping_since = now if strongest.level == "LOOP" else None
            phase = "opened"
        elif episode is not None:
            episode.quiet = episode.quiet + 1 if strongest is None else 0
            if strongest is not None and LEVELS.index(strongest.level) >= LEVELS.index(episode.level):
                episode.evidence = self.evidence(strongest)
            if episode.quiet >= settings.recover_records:
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
        last = self.records[-(min(fired.count, 5) if fired.rule == "R6" else fired.period or 1) :]
        return {
            "rule": fired.rule,
            "period": fired.period,
            "count": fired.count,
            "tools": [each.tool or "" for each in last],
            "signatures": [each.signature for each in last],
            "stuck": {"score": self.stuck.score, "kinds": self.stuck.kinds} if fired.rule == "R7" else None,
        }

    def tell(self, episode: Episode, phase: str, reason: str | None) -> dict[str, Any]:
        first, last = episode.first, self.records[-1]
        known = first.cost is not None and last.cost is not None
        return {
            "phase": phase,
            "level": episode.level,
            "episode_id": episode.id,
            "reopened": episode.reopened,
            "reason": reason,
            **episode.evidence,
            "first_offset": first.decision.offset,
            "first_timestamp": first.at,
            "last_offset": last.decision.offset,
            "last_timestamp": last.at,
            "records": len(self.records) - episode.opened_at + 1,
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
            "stuck": self.stuck.newest if visible else None,
        }

    def repeat_distance(self) -> int | None:
        newest, end = self.records[-1], len(self.records) - 1
        for at in reversed(range(newest.window_start, end)):
            if self.records[at].signature == newest.signature:
                return end - at
        return None


def round_of(decision: Decision) -> str | None:
    round_id: str | None = decision.known["meta"].get("round_id")
    return round_id

"""How an episode lives: opened, escalated, still open, recovered, opened again (specification 6.8, 7.1)."""

from typing import Any

import pytest

from streams.core.domain.text.digest import digest
from tests.stream import Stream, block, decision_log, told
from tests.unit.core.detectors.verdict.sequences import (
    by_person,
    call,
    command,
    episodes,
    failing,
    levels,
    new,
    other,
    phases,
    raws,
    spread,
    text,
    verdicts,
)

ROWS = {"verdict_rules": ["R1", "R2"]}
COMMON = {"id", "event_type", "session_id", "agent_id", "event_id", "timestamp", "partition", "offset"}


def test_what_is_told_has_exactly_these_fields() -> None:
    opened, escalated = episodes([failing()] * 4)
    signature = verdicts([failing()])[0]["signature"]
    assert {name: value for name, value in escalated.items() if name not in COMMON | {"at"}} == {
        "phase": "escalated",
        "level": "LOOP",
        "episode_id": digest("s1|0|2"),
        "reopened": False,
        "reason": None,
        "rule": "R1",
        "period": 1,
        "count": 4,
        "tools": ["run"],
        "signatures": [signature],
        "stuck": None,
        "first_offset": 0,
        "first_timestamp": escalated["timestamp"] - 3000,
        "last_offset": 3,
        "last_timestamp": escalated["timestamp"],
        "records": 2,
        "tokens_since_onset": 0,
        "cost_since_onset": None,
    }
    assert (opened["id"], escalated["id"]) == (
        "s1/0/2/loop_episode/opened",
        "s1/0/3/loop_episode/escalated",
    )


def test_an_episode_that_opens_at_loop_does_not_escalate() -> None:
    assert phases([call()] * 5, identical_warn=3, identical_loop=3, **ROWS) == [(3, "opened")]


def test_the_level_never_falls_before_recovery() -> None:
    # R2 stays at WARNING while the episode is at LOOP.
    values = [failing()] * 4 + [other(1), other(2)] * 2
    assert raws(values, **ROWS) == "NNWLNNNW"
    assert levels(values, recover_records=9, **ROWS) == "NNWLLLLL"


def test_a_firing_rule_starts_the_quiet_count_anew() -> None:
    values = [*[failing()] * 4, new(1), new(2), *[failing()] * 3, new(3), new(4), new(5)]
    assert phases(values, recover_records=5, **ROWS) == [(3, "opened"), (4, "escalated")]
    assert phases([*values, new(6), new(7)], recover_records=5, **ROWS)[-1] == (14, "recovered")


def test_a_record_that_waits_is_no_quiet_one() -> None:
    values = [*[failing()] * 3, new(1), *[command("sleep 1", "")] * 5, new(2), new(3)]
    assert phases(values) == [(3, "opened"), (11, "recovered")]


def test_evidence_follows_the_newest_record_of_its_level_and_the_onset_stays() -> None:
    values = [failing()] * 4 + [other(1), other(2)] * 2 + [other(3), other(4)]
    *_, beat = episodes(values, recover_records=9, alert_heartbeat_records=6, **ROWS)
    # The cycle reached WARNING only, so the evidence is still that of the failures.
    assert (beat["phase"], beat["at"], beat["rule"], beat["count"]) == ("still_open", 10, "R1", 4)
    assert (beat["first_offset"], beat["last_offset"], beat["records"]) == (0, 9, 8)


def test_evidence_of_a_cycle_is_one_repetition_oldest_first() -> None:
    opened = episodes([other(1), text("think"), other(2)] * 2, **ROWS)[0]
    assert (opened["rule"], opened["period"], opened["tools"]) == ("R2", 3, ["look_at_1", "", "look_at_2"])
    assert len(set(opened["signatures"])) == 3


def test_evidence_of_the_stuck_score_is_its_kinds_since_it_was_0() -> None:
    errors = [failing("old string not found", f'{{"old": "v{n}"}}', tool="edit_file") for n in range(3)]
    opened = episodes([new(0), *errors[:2], new(1), errors[2], errors[0]])[0]
    assert (opened["rule"], opened["count"], opened["period"]) == ("R7", 4, None)
    kinds = {"new_error_acting": 1, "old_error": 2, "new": 1, "back": 1}
    assert opened["stuck"] == {"score": 3.5, "kinds": kinds}
    assert opened["first_offset"] == 1


@pytest.mark.parametrize(("beat", "expected"), [(0, []), (1, [5, 6, 7, 8, 9]), (3, [7]), (10, [])])
def test_heartbeats_count_judged_records_since_loop(beat: int, expected: list[int]) -> None:
    values = [failing()] * 9
    found = phases(values, alert_heartbeat_records=beat)
    assert [at for at, phase in found if phase == "still_open"] == expected


def test_quiet_records_of_a_loop_beat_too_and_recovery_is_no_heartbeat() -> None:
    values = [*[failing()] * 4, other(1), other(2), other(3)]
    assert phases(values, alert_heartbeat_records=1)[2:] == [
        (5, "still_open"),
        (6, "still_open"),
        (7, "recovered"),
    ]


def test_a_warning_has_no_heartbeat() -> None:
    found = phases([*[failing()] * 3, other(1), other(2)], alert_heartbeat_records=1)
    assert found == [(3, "opened")]


def test_a_shorter_recovery_takes_effect_with_the_next_quiet_record() -> None:
    stream = Stream(recover_records=9)
    values = spread([*[failing()] * 3, *map(other, range(4))])
    stream.run(values[:-1])
    stream.set(recover_records=2)
    (event,) = told(stream.scored(values[-1]), "loop_episode")
    assert (event["phase"], event["reason"]) == ("recovered", "quiet")


def test_the_record_that_recovers_shows_no_episode() -> None:
    blocks = verdicts([*[failing()] * 3, *map(other, range(3))])
    assert [(each["level"], each["episode_id"] is None) for each in blocks[-2:]] == [
        ("WARNING", False),
        ("NORMAL", True),
    ]


class TestRearm:
    def again(self, between: int) -> dict[str, Any]:
        values = [*[failing()] * 3, *map(other, range(between)), *[failing()] * 3]
        return episodes(values, verdict_window=6, recover_records=1, **ROWS)[-1]

    def test_it_is_the_same_episode_while_the_pattern_is_in_the_window(self) -> None:
        event = self.again(2)
        assert (event["phase"], event["reopened"], event["episode_id"]) == ("opened", True, digest("s1|0|2"))

    def test_it_counts_from_its_new_beginning(self) -> None:
        event = self.again(2)
        assert (event["level"], event["first_offset"], event["records"]) == ("WARNING", 5, 1)

    def test_once_the_pattern_left_the_window_it_is_a_new_episode(self) -> None:
        event = self.again(3)
        assert (event["reopened"], event["episode_id"]) == (False, digest("s1|0|8"))

    def test_another_pattern_is_a_new_episode(self) -> None:
        values = [*[failing()] * 3, new(1), *[failing("E other")] * 3]
        assert not episodes(values, recover_records=1, **ROWS)[-1]["reopened"]

    def test_a_cycle_is_the_same_wherever_it_is_entered(self) -> None:
        values = [*[other(1), other(2)] * 2, other(3), *[other(2), other(1)] * 2]
        event = episodes(values, recover_records=1, **ROWS)[-1]
        assert (event["phase"], event["reopened"]) == ("opened", True)

    def test_two_patterns_of_the_stuck_score_are_one(self) -> None:
        values = [*[failing()] * 3, *map(new, range(3)), *[call()] * 3]
        events = episodes(values, verdict_rules=["R7"])
        assert [(each["phase"], each["reopened"]) for each in events] == [
            ("opened", False),
            ("recovered", False),
            ("opened", True),
        ]

    def test_a_person_who_spoke_does_not_make_it_another_episode(self) -> None:
        values = [*[failing()] * 3, *map(new, range(3)), by_person(failing()), *[failing()] * 2]
        assert episodes(values)[-1]["reopened"]


class TestTheEnd:
    def test_a_terminal_record_closes_what_is_open_with_the_last_judged_record(self) -> None:
        waiting = {**failing("HTTP 503"), "control": {"is_terminal": True}}
        event = episodes([*[failing()] * 3, waiting])[-1]
        assert (event["phase"], event["reason"], event["level"]) == ("recovered", "terminal", "WARNING")
        assert (event["offset"], event["last_offset"], event["records"]) == (3, 2, 1)

    def test_a_terminal_record_that_recovers_closes_once(self) -> None:
        last = {**other(9), "control": {"is_terminal": True}}
        values = [*[failing()] * 3, last]
        assert phases(values, recover_records=1) == [(3, "opened"), (4, "recovered")]

    def test_a_session_without_an_episode_ends_in_silence(self) -> None:
        assert episodes([failing(), {**other(9), "control": {"is_terminal": True}}]) == []


class TestSpending:
    def test_tokens_of_records_that_are_not_judged_count(self) -> None:
        used = {"tokens_consumed": 10}
        values = [failing(delta=used), failing("HTTP 503", delta=used), *[failing(delta=used)] * 2]
        (opened,) = episodes(values)
        assert opened["tokens_since_onset"] == 30

    @pytest.mark.parametrize("unknown", [0, 2])
    def test_cost_is_unknown_when_one_of_the_two_is(self, unknown: int) -> None:
        values = [
            failing(delta=None if at == unknown else {"cumulative_session_cost": 0.5}) for at in range(3)
        ]
        assert episodes(values)[0]["cost_since_onset"] is None

    def test_numbers_no_double_holds_are_kept_and_written(self) -> None:
        huge = {"tokens_consumed": 1.7e308, "cumulative_session_cost": -1.7e308}
        values = [*[failing(delta=huge)] * 2, failing(delta={**huge, "cumulative_session_cost": 1.7e308})]
        (opened,) = episodes(values)
        assert opened["tokens_since_onset"] < float("inf")
        assert opened["cost_since_onset"] < float("inf")


class TestUnseen:
    def test_a_record_that_is_not_judged_shows_how_the_session_stands(self) -> None:
        used = {"tokens_consumed": 10}
        blocks = verdicts([*[failing(delta=used)] * 3, failing("HTTP 503", delta=used)])
        assert blocks[3]["episode"] == blocks[2]["episode"]
        assert blocks[3] == {
            "visible": False,
            "why": "infrastructure",
            "raw": None,
            "level": "WARNING",
            "rule": None,
            "period": None,
            "count": None,
            "fired": None,
            "run": None,
            "repeat_distance": None,
            "signature": None,
            "infra_streak": 1,
            "episode_id": digest("s1|0|2"),
            "stuck": None,
            "episode": blocks[2]["episode"],
        }

    def test_each_record_of_an_open_episode_says_what_an_event_of_now_would_say(self) -> None:
        values = [failing(delta={"tokens_consumed": 10})] * 8
        told, blocks = episodes(values, alert_heartbeat_records=1), verdicts(values)
        assert len(told) > 3
        for event in told:
            block = blocks[event["last_offset"]]
            assert {name: event[name] for name in block["episode"]} == block["episode"]
            assert (event["level"], event["episode_id"]) == (block["level"], block["episode_id"])
        assert blocks[7]["episode"]["tokens_since_onset"] == 70
        assert blocks[0]["episode"] is None

    @pytest.mark.parametrize(
        ("value", "settings", "why"),
        [
            (failing("HTTP 503", kind="system"), {"verdict_enabled": False}, "disabled"),
            (failing("HTTP 503", kind="system"), {"verdict_statuses": []}, "system"),
            (failing("HTTP 503"), {"verdict_statuses": []}, "status"),
            (call("", "", tool="", intent=""), {}, "empty"),
            (call("", None, tool=None, intent=None), {}, "empty"),
            (failing("HTTP 503"), {"tool_policies": {"run": {"mode": "exempt"}}}, "exempt"),
            (failing("HTTP 503"), {}, "infrastructure"),
            (by_person(failing("HTTP 503"), "refusal"), {}, "refused"),
            (by_person(call(), "refusal"), {"tool_policies": {"*": {"mode": "exempt"}}}, "exempt"),
            (call("", "said something", tool=None, intent=None), {}, None),
            (call("", None, tool=None, intent="x"), {"tool_policies": {"*": {"mode": "exempt"}}}, None),
        ],
    )
    def test_the_first_reason_that_applies_is_told(
        self, value: dict[str, Any], settings: dict[str, Any], why: str | None
    ) -> None:
        (verdict,) = verdicts([value], **settings)
        assert (verdict["visible"], verdict["why"]) == (why is None, why)

    def test_infrastructure_errors_are_counted_until_the_next_judged_record(self) -> None:
        values = [failing("HTTP 503"), call(status="pending"), failing("HTTP 503"), call(), call()]
        assert [each["infra_streak"] for each in verdicts(values)] == [1, 1, 2, 0, 0]

    def test_switching_the_verdict_off_leaves_the_episode_open(self) -> None:
        stream = Stream()
        stream.run(spread([failing()] * 4))
        stream.set(verdict_enabled=False)
        outcome = stream.scored(decision_log(number=4))
        assert block(outcome, "verdict")["level"] == "LOOP"
        assert told(outcome, "loop_episode") == []


def test_repeat_distance_counts_judged_records_within_the_window() -> None:
    values = [call(), *map(other, range(5)), call(), *map(other, range(5, 11)), call()]
    wide = [each["repeat_distance"] for each in verdicts(values)]
    narrow = [each["repeat_distance"] for each in verdicts(values, verdict_window=7)]
    assert (wide[6], wide[13]) == (6, 7)
    assert (narrow[6], narrow[13]) == (6, None)


@pytest.mark.parametrize(("before", "expected"), [(6, 7), (7, None)])
def test_a_window_that_grows_restores_nothing(before: int, expected: int | None) -> None:
    stream = Stream(verdict_window=7)
    *first, last = spread([call(), *map(other, range(before)), call()])
    stream.run(first)
    stream.set(verdict_window=30)
    assert block(stream.scored(last), "verdict")["repeat_distance"] == expected

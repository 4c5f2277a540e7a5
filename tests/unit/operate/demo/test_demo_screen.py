"""What the demo says: alerts as they come, and the summary."""

from typing import Any

import pytest

from streams.cli.demo import DemoScreen, numbers, summary
from streams.cli.text.line import Line
from streams.operate.demo.performance import DemoAccount, PerformanceOutcome


def alert(session: str, offset: int, **fields: Any) -> dict[str, Any]:
    return {
        "id": f"{session}/0/{offset}/alert",
        "session_id": session,
        "partition": 0,
        "offset": offset,
        "event_type": "divergence_suspected",
        "signature": ["tool", "Read"],
        "repeat_count": 3,
        **fields,
    }


def pattern(session: str, offset: int, **fields: Any) -> dict[str, Any]:
    found = {"event_type": "drift_pattern", "pattern": "read_loop", "phase": "alert", "target": "a.py"}
    return alert(session, offset, **(found | fields))


def looping(session: str, offset: int, **fields: Any) -> dict[str, Any]:
    episode = {
        "event_type": "loop_episode",
        "phase": "escalated",
        "level": "LOOP",
        "rule": "R1",
        "period": 1,
        "count": 6,
        "tools": ["Edit"],
        "first_offset": 1,
        "first_timestamp": 1_700_000_000_000,
        "records": 3,
    }
    return alert(session, offset, **(episode | fields))


def response(session: str, offset: int, level: str) -> dict[str, Any]:
    return {
        **alert(session, offset),
        "id": f"{session}/0/{offset}/response",
        "event_type": "response",
        "level": level,
        "previous_level": "CONTINUE",
        "overall": 0.5,
        "contributions": {},
        "suggestion": "Stop.",
    }


def plain(lines: Any) -> list[str]:
    return ["".join(span.text for span in line.spans) for line in lines]


@pytest.fixture
def screen() -> tuple[DemoScreen, list[Line]]:
    lines: list[Line] = []
    return DemoScreen(lines.append), lines


def test_an_alert_is_told_with_session_rule_and_reason(screen: tuple[DemoScreen, list[Line]]) -> None:
    told, lines = screen
    told.alerted(pattern("s-1", 3))
    [text] = plain(lines)
    assert text.endswith(" s  ▲ s-1  read_loop: read a.py once more, though nothing has changed it since")


def test_an_alert_without_news_is_not_told(screen: tuple[DemoScreen, list[Line]]) -> None:
    told, lines = screen
    told.alerted(alert("s-1", 3, event_type="entropy_alert", reason="every_record"))
    told.alerted(looping("s-1", 3, phase="still_open"))
    assert lines == []


def test_the_end_of_a_loop_is_told_too(screen: tuple[DemoScreen, list[Line]]) -> None:
    told, lines = screen
    told.alerted(looping("s-1", 3, phase="recovered", reason="quiet"))
    [text] = plain(lines)
    assert " s  ▼ s-1  loop_episode: out of the loop after 3 records: Edit: " in text


def test_progress_is_told_once_a_second(
    screen: tuple[DemoScreen, list[Line]], monkeypatch: pytest.MonkeyPatch
) -> None:
    told, lines = screen
    account = DemoAccount(sent={(0, 0), (0, 1)}, scored={"a"})
    now = told._started
    for seconds in (0.5, 1.1, 1.5, 2.2):
        monkeypatch.setattr("streams.cli.demo.time.monotonic", lambda at=now + seconds: at)
        told.scored(account)
    assert [text.split("s  ")[1] for text in plain(lines)] == [
        "1 of 2 records scored, 0 sessions, 0 alerts"
    ] * 2


def outcome(*told: dict[str, Any], lost: int = 0, seconds: float = 2.0) -> PerformanceOutcome:
    advice = [each for each in told if each["event_type"] == "response"]
    account = DemoAccount(
        sent={(0, offset) for offset in range(4 + lost)},
        scored={"a", "b"},
        dead={(0, 0): "key", (0, 1): "future"},
        sessions={"s-1": {}, "s-2": {}},
        alerts={each["id"]: each for each in told if each not in advice},
        advice={each["id"]: each for each in advice},
    )
    return PerformanceOutcome(account, seconds)


def test_the_summary_groups_alerts_by_session_and_rule_with_the_first_reason() -> None:
    alerts = (pattern("s-2", 7), alert("s-2", 9), pattern("s-2", 3), alert("s-3", 5), looping("s-3", 8))
    since = "since 22:13:20"
    assert plain(summary(outcome(*alerts))) == [
        "",
        "4 records: 2 scored, 2 dead-lettered (future 1, key 1)",
        "2 sessions: 1 in a loop, 1 suspicious; 5 alerts, 0 responses, 0 budget changes",
        "  ▲ s-3",
        f"      loop_episode: Edit: the same call with the same result, 6 times in a row (R1); {since}",
        "      divergence_suspected: Read was called 3 times in a row",
        "  ▲ s-2",
        "      read_loop (2 times): read a.py once more, though nothing has changed it since",
        "      divergence_suspected: Read was called 3 times in a row",
        "2 events/s in 2.0 s, through Kafka and back",
        "0 records unaccounted for",
    ]


def test_of_an_episode_the_newest_event_is_shown() -> None:
    over = looping("s-1", 9, phase="recovered", reason="quiet")
    texts = plain(summary(outcome(looping("s-1", 5), over)))
    [episode] = [text for text in texts if "loop_episode" in text]
    assert episode.startswith("      loop_episode (2 times): out of the loop")


def test_serious_advice_is_shown_of_sessions_with_alerts() -> None:
    advice = [
        response("s-1", 3, "INJECT_REMINDER"),
        response("s-1", 4, "ASK_USER"),
        response("s-2", 5, "ASK_USER"),
    ]
    texts = plain(summary(outcome(looping("s-1", 5), *advice)))
    assert [text for text in texts if "▷" in text] == ["      ▷ drift 0.50. Stop."]
    assert "2 sessions: 1 in a loop, 0 suspicious; 1 alerts, 3 responses, 0 budget changes" in texts


def test_the_numbers_are_those_of_the_account() -> None:
    assert numbers(outcome(looping("s-1", 5), lost=2, seconds=1.23456)) == {
        "records": 6,
        "sessions": 2,
        "scored": 2,
        "dead_lettered": 2,
        "alerts": 1,
        "lost": 2,
        "seconds": 1.235,
    }


def test_what_is_lost_is_said_last() -> None:
    assert plain(summary(outcome(lost=3)))[-1] == "3 records unaccounted for"


def test_a_long_list_of_sessions_is_cut() -> None:
    texts = plain(summary(outcome(*(looping(f"s-{number:02}", 0) for number in range(45)))))
    assert "  … and 5 more sessions" in texts
    assert sum(text.startswith("  ▲ ") for text in texts) == 40


def test_names_of_sessions_cannot_move_the_cursor(screen: tuple[DemoScreen, list[Line]]) -> None:
    told, lines = screen
    evil = pattern("s\x1b[2J\n", 1, target="\x1b[31m")
    told.alerted(evil)
    texts = plain(lines) + plain(summary(outcome(evil)))
    assert all(text.isprintable() for text in texts)


def test_a_run_of_no_time_has_no_rate() -> None:
    assert "0 events/s in 0.0 s, through Kafka and back" in plain(summary(outcome(seconds=0.0)))

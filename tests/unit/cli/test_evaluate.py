"""`eddy evaluate` on sessions small enough to count by hand."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from streams.cli import main
from tests.stream import decision_log


def events(session: str, *calls: tuple[str, str, str, str]) -> list[dict[str, Any]]:
    """Events of a session, each (tool, arguments, status, result)."""
    return [
        {
            "session_id": session,
            "agent_id": "a",
            "seq": number,
            "intent": f"step {number}",
            "tool_call": tool,
            "arguments": arguments,
            "action_status": status,
            "result": result,
        }
        for number, (tool, arguments, status, result) in enumerate(calls)
    ]


def label(session: str, *words: str) -> dict[str, Any]:
    return {"session_id": session, "label_source": "human", "action_action": list(words)}


FAILING = ("grep", "main", "failure", "no such file")
LINES = [
    # Four equal failures, all three repetitions labelled. Under `r1` the second is WARNING, the others LOOP.
    *events("demo::loop", FAILING, FAILING, FAILING, FAILING, ("ls", ".", "success", "main.py")),
    label("demo::loop", "Repetition", "Repetition", "Repetition", "Follow-up"),
    {"session_id": "demo::loop", "stuck": "yes", "onset": 1, "solved": False},
    # The same call twice with another result: only the baseline minds.
    *events("demo::work", ("tail", "log", "success", "one row"), ("tail", "log", "success", "two rows")),
    {**label("demo::work", "Follow-up"), "stuck": "no", "solved": True},
    # Nobody labelled this one.
    *events("other::wild", *[("ls", ".", "success", "main.py")] * 3),
    # A source without loops.
    *events("free::1", ("ls", ".", "success", "main.py"), ("cat", "main.py", "success", "print(1)")),
]


@pytest.fixture
def folder(tmp_path: Path) -> str:
    (tmp_path / "made-up.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in LINES))
    return str(tmp_path)


def evaluate(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["evaluate", *arguments])


@pytest.fixture
def r1(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Settings under which one rule alone judges, so that the figures can be counted by hand."""
    path = tmp_path_factory.mktemp("settings") / "r1.json"
    limits = '"identical_failing_warn": 2, "identical_failing_loop": 3'
    path.write_text(f'{{"verdict_rules": ["R1"], {limits}}}')
    return str(path)


GOLDEN = """\
## all

4 sessions, 12 records.

- 1 stuck, 1 not stuck, 0 disputed and left out
- 1 solved their task, 1 failed, 0 of these with tokens
- 2 with steps labelled by people: 5 transitions, 3 repetitions; sessions that loop: 1
- 2 healthy

**Stuck sessions**

| detector        | found                  | false                  | precision           | early | stuck \
records after the alarm |
| --------------- | ---------------------- | ---------------------- | ------------------- | ----- | \
----------------------------- |
| baseline        | 1: 1.00 (0.21 to 1.00) | 1: 1.00 (0.21 to 1.00) | 0.50 (0.09 to 0.91) | 0     | 0.75 \
(0.75 to 0.75)           |
| verdict-warning | 1: 1.00 (0.21 to 1.00) | 0: 0.00 (0.00 to 0.79) | 1.00 (0.21 to 1.00) | 0     | 0.75 \
(0.75 to 0.75)           |
| verdict-loop    | 1: 1.00 (0.21 to 1.00) | 0: 0.00 (0.00 to 0.79) | 1.00 (0.21 to 1.00) | 0     | 0.50 \
(0.50 to 0.50)           |

**Stuck sessions: delay from the onset, in records and seconds**

| detector        | noticed | lower quartile   | median           | upper quartile   | timed | median, s \
| 90th percentile, s |
| --------------- | ------- | ---------------- | ---------------- | ---------------- | ----- | --------- \
| ------------------ |
| baseline        | 1       | 0.0 (0.0 to 0.0) | 0.0 (0.0 to 0.0) | 0.0 (0.0 to 0.0) | 0     | unknown   \
| unknown            |
| verdict-warning | 1       | 0.0 (0.0 to 0.0) | 0.0 (0.0 to 0.0) | 0.0 (0.0 to 0.0) | 0     | unknown   \
| unknown            |
| verdict-loop    | 1       | 1.0 (1.0 to 1.0) | 1.0 (1.0 to 1.0) | 1.0 (1.0 to 1.0) | 0     | unknown   \
| unknown            |

**Solved and failed sessions**

| detector        | solved with alarm | per 100               | failed with alarm      | records of \
failed after the alarm | tokens of failed after the alarm |
| --------------- | ----------------- | --------------------- | ---------------------- | \
--------------------------------- | -------------------------------- |
| baseline        | 1                 | 100.0 (20.7 to 100.0) | 1: 1.00 (0.21 to 1.00) | 0.60 (0.60 to \
0.60)               | unknown                          |
| verdict-warning | 0                 | 0.0 (0.0 to 79.3)     | 1: 1.00 (0.21 to 1.00) | 0.60 (0.60 to \
0.60)               | unknown                          |
| verdict-loop    | 0                 | 0.0 (0.0 to 79.3)     | 1: 1.00 (0.21 to 1.00) | 0.40 (0.40 to \
0.40)               | unknown                          |

**Records**

| detector        | hits | false | missed | precision           | recall              | F1                  |
| --------------- | ---- | ----- | ------ | ------------------- | ------------------- | ------------------- |
| baseline        | 3    | 1     | 0      | 0.75 (0.00 to 1.00) | 1.00 (1.00 to 1.00) | 0.86 (0.00 to 1.00) |
| verdict-warning | 3    | 0     | 0      | 1.00 (1.00 to 1.00) | 1.00 (1.00 to 1.00) | 1.00 (1.00 to 1.00) |
| verdict-loop    | 2    | 0     | 1      | 1.00 (1.00 to 1.00) | 0.67 (0.67 to 0.67) | 0.80 (0.80 to 0.80) |

**Sessions**

| detector        | hits | false | missed | precision           | recall              | F1                  |
| --------------- | ---- | ----- | ------ | ------------------- | ------------------- | ------------------- |
| baseline        | 1    | 1     | 0      | 0.50 (0.09 to 0.91) | 1.00 (0.21 to 1.00) | 0.67 (0.00 to 1.00) |
| verdict-warning | 1    | 0     | 0      | 1.00 (0.21 to 1.00) | 1.00 (0.21 to 1.00) | 1.00 (1.00 to 1.00) |
| verdict-loop    | 1    | 0     | 0      | 1.00 (0.21 to 1.00) | 1.00 (0.21 to 1.00) | 1.00 (1.00 to 1.00) |

**Records by kind: found, and false**

| detector        | same call                       | returning  | same tool  | other tool |
| --------------- | ------------------------------- | ---------- | ---------- | ---------- |
| baseline        | 3: 1.00 (1.00 to 1.00), 1 false | 0, 0 false | 0, 0 false | 0, 0 false |
| verdict-warning | 3: 1.00 (1.00 to 1.00), 0 false | 0, 0 false | 0, 0 false | 0, 0 false |
| verdict-loop    | 2: 0.67 (0.67 to 0.67), 0 false | 0, 0 false | 0, 0 false | 0, 0 false |

**Delay, in records and seconds**

| detector        | noticed | unnoticed | lower quartile   | median           | upper quartile   | timed \
| median, s | 90th percentile, s |
| --------------- | ------- | --------- | ---------------- | ---------------- | ---------------- | ----- \
| --------- | ------------------ |
| baseline        | 1       | 0         | 0.0 (0.0 to 0.0) | 0.0 (0.0 to 0.0) | 0.0 (0.0 to 0.0) | 0     \
| unknown   | unknown            |
| verdict-warning | 1       | 0         | 0.0 (0.0 to 0.0) | 0.0 (0.0 to 0.0) | 0.0 (0.0 to 0.0) | 0     \
| unknown   | unknown            |
| verdict-loop    | 1       | 0         | 1.0 (1.0 to 1.0) | 1.0 (1.0 to 1.0) | 1.0 (1.0 to 1.0) | 0     \
| unknown   | unknown            |

**Alarms, healthy sessions**

| detector        | sessions with alarm | per 100 sessions   | alarms per 100 sessions |
| --------------- | ------------------- | ------------------ | ----------------------- |
| baseline        | 1 of 2              | 50.0 (9.5 to 90.5) | 50.0 (0.0 to 100.0)     |
| verdict-warning | 0 of 2              | 0.0 (0.0 to 65.8)  | 0.0 (0.0 to 0.0)        |
| verdict-loop    | 0 of 2              | 0.0 (0.0 to 65.8)  | 0.0 (0.0 to 0.0)        |

**Alarms, all sessions**

| detector        | sessions with alarm | per 100 sessions    | alarms per 100 sessions |
| --------------- | ------------------- | ------------------- | ----------------------- |
| baseline        | 3 of 4              | 75.0 (30.1 to 95.4) | 75.0 (25.0 to 100.0)    |
| verdict-warning | 2 of 4              | 50.0 (15.0 to 85.0) | 50.0 (0.0 to 100.0)     |
| verdict-loop    | 1 of 4              | 25.0 (4.6 to 69.9)  | 25.0 (0.0 to 75.0)      |

**Rules**

| detector        | rule     | finds | false | only it finds | only it, false | healthy sessions |
| --------------- | -------- | ----- | ----- | ------------- | -------------- | ---------------- |
| baseline        | baseline | 3     | 1     | 3             | 1              | 1                |
| verdict-warning | R1       | 3     | 0     | 3             | 0              | 0                |
| verdict-loop    | R1       | 2     | 0     | 2             | 0              | 0                |

"""

ASKED = ("--detector", "baseline", "--detector", "verdict-loop", "--detector", "verdict-warning")


def test_the_tables_of_all_sources(folder: str, r1: str) -> None:
    result = evaluate(folder, "--settings", r1, "--loop-free", "free", "--rules", *ASKED)
    assert result.exit_code == 0, result.output
    assert result.stdout.partition("## demo")[0] == GOLDEN


def test_the_same_files_give_the_same_bytes(folder: str) -> None:
    assert evaluate(folder).stdout_bytes == evaluate(folder).stdout_bytes
    assert evaluate(folder, "--json").stdout_bytes == evaluate(folder, "--json").stdout_bytes


def test_as_json_there_is_every_figure(folder: str, r1: str) -> None:
    asked = ("--json", "--settings", r1, "--loop-free", "fr*", "--detector", "verdict-warning")
    document = json.loads(evaluate(folder, *asked).stdout)
    assert document["method"] == {
        "repetitions_of_a_loop": 1,
        "loop_free": ["fr*"],
        "bootstrap": {"of": "sessions", "draws": 1000, "seed": 20251122},
    }
    assert [part["source"] for part in document["parts"]] == ["all", "demo", "free", "other"]
    (row,) = document["parts"][0]["detectors"]
    unfound = {"precision": None, "precision_interval": None, "recall": None, "recall_interval": None}
    none = {"hits": 0, "false": 0, "missed": 0, **unfound, "f1": None, "f1_interval": None}
    perfect = {"hits": 3, "false": 0, "missed": 0, "precision": 1.0, "precision_interval": [1.0, 1.0]}
    perfect |= {"recall": 1.0, "recall_interval": [1.0, 1.0], "f1": 1.0, "f1_interval": [1.0, 1.0]}
    at_once = {"value": 0.0, "interval": [0.0, 0.0]}
    unknown = {"value": None, "interval": None}
    delay = {
        "noticed": 1,
        "unnoticed": 0,
        "lower_quartile_records": at_once,
        "median_records": at_once,
        "upper_quartile_records": at_once,
        # The events have no times.
        "timed": 0,
        "median_seconds": unknown,
        "p90_seconds": unknown,
    }
    assert row == {
        "detector": "verdict-warning",
        "stuck": {
            "found": 1,
            "missed": 0,
            "false": 0,
            "early": 0,
            "found_share": {"value": 1.0, "interval": [0.2065, 1.0]},
            "false_share": {"value": 0.0, "interval": [0.0, 0.7935]},
            "precision": {"value": 1.0, "interval": [0.2065, 1.0]},
            "delay": delay,
            "stuck_records_after_alarm": {"value": 0.75, "interval": [0.75, 0.75]},
        },
        "stuck_by_rule": {},
        "solved": {
            "sessions": 1,
            "sessions_with_alarm": 0,
            "sessions_with_alarm_per_100": 0.0,
            "interval": [0.0, 79.3451],
            "alarms": 0,
            "alarms_per_100": 0.0,
            "alarms_interval": [0.0, 0.0],
        },
        "failed": {
            "sessions": 1,
            "sessions_with_alarm": 1,
            "sessions_with_alarm_per_100": 100.0,
            "interval": [20.6549, 100.0],
            "alarms": 1,
            "alarms_per_100": 100.0,
            "alarms_interval": [100.0, 100.0],
        },
        "failed_records_after_alarm": {"value": 0.6, "interval": [0.6, 0.6]},
        "failed_tokens_after_alarm": unknown,
        "right_to_stop": {"right": 0, "wrong": 0, "unknown": 0, "share": unknown, "no_new_best": unknown},
        "steps": {**perfect},
        "sessions": {
            "hits": 1,
            "false": 0,
            "missed": 0,
            "precision": 1.0,
            "precision_interval": [0.2065, 1.0],
            "recall": 1.0,
            "recall_interval": [0.2065, 1.0],
            "f1": 1.0,
            "f1_interval": [1.0, 1.0],
        },
        "healthy": {
            "sessions": 2,
            "sessions_with_alarm": 0,
            "sessions_with_alarm_per_100": 0.0,
            "interval": [0.0, 65.762],
            "alarms": 0,
            "alarms_per_100": 0.0,
            "alarms_interval": [0.0, 0.0],
        },
        "every_session": {
            "sessions": 4,
            "sessions_with_alarm": 2,
            "sessions_with_alarm_per_100": 50.0,
            "interval": [15.0039, 84.9961],
            "alarms": 2,
            "alarms_per_100": 50.0,
            "alarms_interval": [0.0, 100.0],
        },
        "delay": delay,
        "rules": [
            {
                "rule": "R1",
                "alone": {"hits": 3, "false": 0, "missed": 0},
                "only": {"hits": 3, "false": 0},
                "healthy_sessions": 0,
            }
        ],
        "kinds": {
            "first": none,
            "same call": perfect,
            "returning": none,
            "same tool": none,
            "other tool": none,
        },
    }
    assert document["changes"] == []


def test_a_source_without_labels_has_alarms_only(folder: str) -> None:
    tables = evaluate(folder, *ASKED).stdout.partition("## other")[2]
    assert "**Alarms, all sessions**" in tables
    assert "**Alarms, healthy sessions**" not in tables
    assert "**Records**" not in tables
    assert "**Sessions**" not in tables
    assert "**Stuck sessions**" not in tables
    assert "**Solved and failed sessions**" not in tables


def test_own_decision_logs_are_enough(tmp_path: Path) -> None:
    logs = [decision_log(session="mine", number=number, error="no such file") for number in range(5)]
    labels = [{"session_id": "mine", "stuck": "yes", "onset": 1, "records": 4}]
    path = tmp_path / "mine.jsonl"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in (*logs, *labels)))
    result = evaluate(str(path), "--detector", "verdict-loop")
    assert result.stderr == ""
    assert "| verdict-loop | 1: 1.00 (0.21 to 1.00) | 0     |" in result.stdout


def test_times_tokens_and_rewards_are_read_where_they_are_known(tmp_path: Path, r1: str) -> None:
    logs = [
        {
            **decision_log(session=session, number=number, error="no such file", at_ms=number * gap),
            "state_delta": {"tokens_consumed": 10.0 * (number + 1)},
        }
        for session, gap in (("a", 2_000), ("b", 30_000))
        for number in range(4)
    ]
    labels: list[dict[str, Any]] = [
        {"session_id": "a", "stuck": "yes", "onset": 1, "solved": False},
        # As made of InterCode: how it ended, and a reward for each record.
        {"session_id": "a", "rewards": [0.0, 0.5, 0.5, 0.5]},
        {"session_id": "b", "stuck": "yes", "onset": 1, "solved": True, "rewards": [0, 0, 0, 1]},
    ]
    path = tmp_path / "mine.jsonl"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in (*logs, *labels)))
    asked = (str(path), "--settings", r1, "--detector", "verdict-loop")
    document = json.loads(evaluate(*asked, "--json").stdout)
    whole, one, two = document["parts"]
    assert (whole["sessions_with_rewards"], whole["failed_sessions_with_tokens"]) == (2, 1)
    (row,) = whole["detectors"]
    # LOOP is on the third record of both: one after the onset, 2 s and 30 s.
    delay = row["stuck"]["delay"]
    assert (delay["median_records"]["value"], delay["timed"]) == (1.0, 2)
    assert (delay["median_seconds"]["value"], delay["p90_seconds"]["value"]) == (16.0, 27.2)
    # The fourth of 10, 20, 30 and 40 tokens, in the failed session only.
    assert row["failed_tokens_after_alarm"] == {"value": 0.4, "interval": [0.4, 0.4]}
    assert row["right_to_stop"] == {
        "right": 1,
        "wrong": 1,
        "unknown": 0,
        "share": {"value": 0.5, "interval": [0.0945, 0.9055]},
        "no_new_best": {"value": 0.5, "interval": [0.0945, 0.9055]},
    }
    assert [part["detectors"][0]["right_to_stop"]["right"] for part in (one, two)] == [1, 0]
    table = evaluate(*asked).stdout.partition("## a\n")[0]
    assert "| verdict-loop | 1     | 1     | 0       | 0.500 (0.095 to 0.905) |" in table
    assert "16.0 (2.0 to 30.0) | 27.2 (2.0 to 30.0) |" in table
    assert "0.40 (0.40 to 0.40)" in table


def test_each_rule_is_scored_on_stuck_sessions(tmp_path: Path) -> None:
    circle = [("ls", ".", "success", "main.py"), ("cat", "main.py", "failure", "no such file")]
    lines = [
        *events("s::1", *circle * 3, *circle[1:] * 2),
        {"session_id": "s::1", "stuck": "yes", "onset": 2},
    ]
    path = tmp_path / "circle.jsonl"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    result = evaluate(str(path), "--detector", "loop", "--rules")
    by_rule = result.stdout.partition("**Stuck sessions, by rule**")[2]
    assert "| loop oscillation | 1: 1.00" in by_rule


def test_settings_change_what_is_found(folder: str, tmp_path: Path) -> None:
    settings = tmp_path / "settings.json"
    settings.write_text('{"identical_failing_warn": 2}')
    asked = (folder, "--detector", "verdict-warning")
    assert "| verdict-warning | 2    | 0     | 1      |" in evaluate(*asked).stdout
    assert (
        "| verdict-warning | 3    | 0     | 0      |" in evaluate(*asked, "--settings", str(settings)).stdout
    )


def test_settings_that_cannot_be_are_wrong_usage(folder: str, tmp_path: Path) -> None:
    settings = tmp_path / "settings.json"
    settings.write_text('{"identical_failing_warn": 3, "nonsense": 1}')
    result = evaluate(folder, "--settings", str(settings))
    assert result.exit_code == 2
    assert "nonsense" in result.stderr


def test_where_nothing_is_scored_it_ends_with_two_and_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").touch()
    result = evaluate(str(tmp_path))
    assert result.exit_code == 2
    assert result.stderr.splitlines()[-1].startswith("eddy: Nothing was scored")


CHANGES = """\
## all, less the same under strict.json

**Stuck sessions**

| detector        | found                  | false                  | precision              \
| median delay        | stuck records after the alarm |
| --------------- | ---------------------- | ---------------------- | ---------------------- \
| ------------------- | ----------------------------- |
| verdict-warning | +0.00 (+0.00 to +0.00) | +0.00 (+0.00 to +0.00) | +0.00 (+0.00 to +0.00) \
| -2.0 (-2.0 to -2.0) | +0.50 (+0.50 to +0.50)        |

**Records and sessions**

| detector        | precision              | recall                 | F1                     \
| F1 of sessions         | healthy with alarm | solved with alarm |
| --------------- | ---------------------- | ---------------------- | ---------------------- \
| ---------------------- | ------------------ | ----------------- |
| verdict-warning | +0.00 (+0.00 to +0.00) | +0.67 (+0.67 to +0.67) | +0.50 (+0.50 to +0.50) \
| +0.00 (+0.00 to +0.00) | 0 for 0            | 0 for 0           |

"""


@pytest.fixture
def strict(tmp_path: Path) -> str:
    """Settings under which only the last of the four failures is a warning."""
    path = tmp_path / "strict.json"
    limits = '"identical_failing_warn": 4, "identical_failing_loop": 5'
    path.write_text(f'{{"verdict_rules": ["R1"], {limits}}}')
    return str(path)


def test_against_other_settings_the_changes_stand_last(folder: str, r1: str, strict: str) -> None:
    result = evaluate(folder, "--settings", r1, "--against", strict, "--detector", "verdict-warning")
    assert result.exit_code == 0, result.output
    assert result.stdout.endswith(CHANGES)


def test_the_other_settings_may_be_built_in(folder: str, r1: str) -> None:
    result = evaluate(folder, "--settings", r1, "--against", "default", "--detector", "verdict-warning")
    assert result.exit_code == 0, result.output
    assert "## all, less the same under the defaults\n" in result.stdout
    wrong = evaluate(folder, "--against", "nowhere.json")
    assert wrong.exit_code == 2
    assert "'nowhere.json' is no file, and none of: default" in wrong.stderr


def test_changes_stand_in_the_document(folder: str, r1: str, strict: str) -> None:
    result = evaluate(
        folder, "--settings", r1, "--json", "--against", strict, "--detector", "verdict-warning"
    )
    (change,) = json.loads(result.stdout)["changes"]
    assert change["recall"] == {"change": 0.6667, "interval": [0.6667, 0.6667]}
    assert change["healthy_sessions_with_alarm"] == change["solved_sessions_with_alarm"] == [0, 0]
    # The warning is on the first repetition, for the third.
    assert change["stuck"]["median_delay"] == {"change": -2.0, "interval": [-2.0, -2.0]}


def test_what_cannot_be_compared_is_named(tmp_path: Path) -> None:
    lines = [*events("demo::short", FAILING), label("demo::short", "Repetition"), label("demo::gone")]
    (tmp_path / "bad.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    result = evaluate(str(tmp_path))
    assert result.exit_code == 2  # nothing else is there
    assert result.stderr.splitlines()[:2] == [
        "warning: demo::short: 1 labels for 1 records; left out",
        "warning: demo::gone: labels without records",
    ]


def test_a_file_that_is_cut_off_ends_with_two(tmp_path: Path) -> None:
    (tmp_path / "cut.jsonl.gz").write_bytes(b"\x1f\x8b\x08\x00")
    assert evaluate(str(tmp_path)).exit_code == 2

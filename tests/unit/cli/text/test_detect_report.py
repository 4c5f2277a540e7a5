"""`eddy detect` for people: what looped, and why, safe to look at."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from streams.cli import main
from streams.cli.text.line import Line, TextSpan
from streams.cli.text.report import MOST_SESSIONS_NAMED, SessionReport
from streams.cli.text.screen import line_writer
from streams.core.detectors.settings import DEFAULTS
from streams.core.domain.text.figures import clock, duration
from streams.core.domain.text.printable import printable
from streams.core.entry import Entry
from streams.core.offline import judge
from streams.formats.recordings.catalogue import RECORDINGS, Recording
from streams.operate.explain.explanation import sentence


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def log(number: int, session: str = "s1", intent: str = "find the order", **changes: Any) -> dict[str, Any]:
    return {
        "session_id": session,
        "event_id": f"e{number}",
        "meta": {"trace_id": "t1", "timestamp": 1_700_000_000_000 + 1000 * number},
        "identity": {"agent_id": "agent-1", "agent_type": "coder"},
        "cognition": {"intent": intent},
        "action": {"status": "success", "tool_call": f"tool{number % 3}", "tool_output_summary": f"{number}"},
        **changes,
    }


def report(tmp_path: Path, *records: dict[str, Any], options: tuple[str, ...] = ()) -> list[str]:
    path = tmp_path / "records.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    result = CliRunner().invoke(main, ["detect", *options, str(path)])
    assert result.exit_code == 0, result.output
    return result.stdout.splitlines()


def of(name: str) -> list[str]:
    recording = next(recording for recording in RECORDINGS if recording.name == name)
    arguments = ["detect", "--format", str(recording.input_format), str(recording.path)]
    return CliRunner().invoke(main, arguments).stdout.splitlines()


def test_a_loop_is_shown_with_the_steps_that_lead_to_it_and_the_reason() -> None:
    shown = of("same_call")
    reason = next(number for number, line in enumerate(shown) if "entropy_alert: " in line)
    assert shown[reason].strip() == (
        "▲ entropy_alert: 5 of the last 5 steps are the same: "
        "“Search the knowledge base for the refund policy”, search_knowledge_base, success"
    )
    steps = [line for line in shown[:reason] if "search_knowledge_base · " in line]
    assert [" ".join(line.split()[2:4]) for line in steps] == [
        "1.00 NORMAL",
        "0.80 NORMAL",
        "0.60 WARNING",
        "0.40 LOOP",
        "0.20 LOOP",
    ]


def test_an_episode_is_told_from_the_warning_to_its_end() -> None:
    what = "search_knowledge_base: the same call with the same result, {} times in a row (R1)"
    over, since = "out of the loop after 10 records: ", "since 09:02:20"
    lasted = "since 09:02:20, 1 min 9 s"
    assert [line.strip() for line in of("same_call") if "loop_episode: " in line] == [
        f"▲ loop_episode: may become a loop: {what.format(3)}; {since}: 4,392 tokens, $0.0052",
        f"▲ loop_episode: {what.format(4)}; {since}: 6,174 tokens, $0.0073",
        f"▼ loop_episode: {over}{what.format(9)}; {lasted}: 25,630 tokens, $0.0307",
    ]


def test_a_warning_that_comes_to_nothing_just_ends(tmp_path: Path) -> None:
    again = {"status": "success", "tool_call": "x", "tool_output_summary": "no rows"}
    records = [log(number, action=again) for number in range(3)] + [log(number) for number in range(3, 9)]
    shown = report(tmp_path, *records)
    [episode] = [line.strip() for line in shown if "loop_episode" in line]
    assert episode.startswith("▲ loop_episode: may become a loop: x: the same call")
    assert any("0 in a loop" in line for line in shown)


def test_a_suspicious_session_is_told_what_can_be_done() -> None:
    advice = [line.strip() for line in of("edit_test_loop") if "▷" in line]
    why = "(risk of a loop 0.20, little progress 0.16)"
    assert advice == [
        f"▷ drift 0.53 {why}. Summarise what was done and make a new plan.",
        "▷ the budget of 18 steps is used up after 14% of the task",
    ]


@pytest.mark.parametrize("name", [r.name for r in RECORDINGS if not r.findings and not r.rejected])
def test_a_healthy_session_stays_quiet(name: str) -> None:
    heading, steps, *_ = of(name)
    assert heading.startswith("● ")
    assert steps.strip().startswith("… ")
    assert steps.endswith(" steps, NORMAL")


def test_with_every_step_all_advice_is_shown(tmp_path: Path) -> None:
    goal = {"intent": "look around", "goal": "migrate the billing database"}
    progress = {"progress_delta": 0.1, "tokens_consumed": 10}
    records = [log(number, cognition=goal, state_delta=progress) for number in range(10)]
    assert [line.strip() for line in report(tmp_path, *records, options=("--all-steps",)) if "▷" in line] == [
        "▷ drift 0.35 (away from its goal 0.35). Remind the agent of its goal in the next prompt.",
        "▷ budget x 1.5: 75 steps, 150,000 tokens",
    ]
    assert not [line for line in report(tmp_path, *records) if "▷" in line]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("edit_test_loop", "▲ test_fail_loop: the same command failed again, with the same error"),
        ("flip_flop", "▲ edit_revert: app/models.py is back at content it had before: an edit was undone"),
        ("read_loop", "▲ read_loop: read config/billing.yaml once more, though nothing has changed it since"),
        ("read_loop", "▲ divergence_suspected: Read was called 3 times in a row"),
        ("read_loop", "▲ read_loop: this keeps coming back (moving average 0.51)"),
    ],
)
def test_a_reason_is_a_sentence(name: str, reason: str) -> None:
    assert reason in [line.strip() for line in of(name)]


def test_the_summary_names_the_sessions_to_look_at() -> None:
    assert of("same_call")[-3:] == [
        "18 records: 18 scored, 0 duplicate, 0 rejected",
        "1 session: 1 in a loop, 0 suspicious",
        "  ▲ ticket-48213-refund  divergence_suspected (1), entropy_alert (5), loop_episode (2)",
    ]


def test_a_session_that_gets_on_is_two_lines(tmp_path: Path) -> None:
    shown = report(tmp_path, *(log(number, intent=f"step {number}") for number in range(9)))
    assert shown == [
        "● s1 · agent-1 · 2023-11-14 · 9 steps in 8 s",
        "       … 9 steps, NORMAL",
        "",
        "9 records: 9 scored, 0 duplicate, 0 rejected",
        "1 session: 0 in a loop, 0 suspicious",
    ]


def test_all_steps_are_shown_on_request(tmp_path: Path) -> None:
    shown = report(
        tmp_path, *(log(number, intent=f"step {number}") for number in range(9)), options=("--all-steps",)
    )
    assert [line.split()[0] for line in shown[2:11]] == [str(step) for step in range(1, 10)]
    assert shown[1].startswith("   step  time UTC  uniq verdict  status   tool · intent · ")
    assert shown[2] == "      1  22:13:20  1.00 NORMAL   success  tool0 · step 0"


def test_a_single_quiet_step_is_shown_rather_than_counted(tmp_path: Path) -> None:
    records = [log(number, intent=f"step {number}") for number in range(4)]
    records += [
        log(number, intent="again", action={"status": "failure", "tool_call": "x"}) for number in range(4, 7)
    ]
    shown = report(tmp_path, *records)
    assert not [line for line in shown if "… 1 step" in line]


def test_sessions_that_run_side_by_side_are_told_one_after_the_other(tmp_path: Path) -> None:
    records = [log(n, session=name, intent=f"step {n}") for n in range(6) for name in ("s1", "s2")]
    headings = [line for line in report(tmp_path, *records) if line.startswith("●")]
    assert headings == [f"● {name} · agent-1 · 2023-11-14 · 6 steps in 5 s" for name in ("s1", "s2")]


def test_a_session_is_told_as_soon_as_it_ends(tmp_path: Path) -> None:
    records = [
        log(0, session="s1"),
        log(1, session="s2", control={"is_terminal": True}),
        log(2, session="s1"),
    ]
    headings = [line.split(" · ")[0] for line in report(tmp_path, *records) if line.startswith("●")]
    assert headings == ["● s2", "● s1"]


def test_too_many_open_sessions_are_told_as_far_as_they_got(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("streams.cli.text.report.MOST_OPEN", 2)
    records = [log(n, session=f"s{n % 3}") for n in range(6)]
    headings = [line for line in report(tmp_path, *records) if line.startswith("●")]
    assert len(headings) > 3
    assert headings[0] == "● s0 · agent-1 · 2023-11-14 · 1 step in 0 ms, goes on below"
    assert not headings[-1].endswith("goes on below")


def test_the_summary_counts_what_was_refused_by_reason() -> None:
    records, reasons, _ = of("broken")[-3:]
    assert records == "24 records: 10 scored, 0 duplicate, 14 rejected"
    assert reasons == (
        "  rejected for action.status (2), action.tool_input (1), control.is_terminal (1), "
        "identity.agent_id (1), key (2), meta.timestamp (2), meta.timestamp:future (1), session_id (1), "
        "undecodable (3), unknown_schema (1)"
    )


def test_the_summary_names_some_sessions_and_counts_the_others(tmp_path: Path) -> None:
    again = {"status": "success", "tool_call": "x"}
    records = [
        log(n, session=f"s{m:02}", action=again) for m in range(MOST_SESSIONS_NAMED + 2) for n in range(5)
    ]
    shown = report(tmp_path, *records)
    assert shown[-1] == "  … and 2 more"
    assert len([line for line in shown if line.startswith("  ▲ s")]) == MOST_SESSIONS_NAMED


def test_a_loop_is_a_loop_whether_its_alerts_are_published_or_not(tmp_path: Path) -> None:
    settings = tmp_path / "settings.json"
    settings.write_text('{"alert_families": []}')
    records = [log(n, action={"status": "success", "tool_call": "x"}) for n in range(4)]
    shown = report(tmp_path, *records, options=("--settings", str(settings)))
    assert shown[-2:] == ["1 session: 1 in a loop, 0 suspicious", "  ▲ s1  no alert published"]
    assert len([line for line in shown if "loop_episode" in line]) == 2


def test_a_family_that_is_not_published_is_not_told(tmp_path: Path) -> None:
    settings = tmp_path / "settings.json"
    settings.write_text('{"alert_families": ["entropy_alert"]}')
    records = [log(n, action={"status": "success", "tool_call": "x"}) for n in range(6)]
    shown = report(tmp_path, *records, options=("--settings", str(settings)))
    assert not [line for line in shown if "divergence" in line]


EVIL = "ignore \x1b[2J\x1b]0;owned\x07 \x9b31m \u202edrowssap \u200b [red]bold[/red] \r\nnext"


def test_text_of_agents_cannot_steer_the_terminal(tmp_path: Path) -> None:
    record = log(
        0,
        session=EVIL,
        intent=EVIL,
        identity={"agent_id": EVIL, "agent_type": EVIL},
        action={"status": "failure", "tool_call": EVIL, "target": EVIL, "error": EVIL},
    )
    records = [{**record, "event_id": str(number)} for number in range(6)]
    shown = "\n".join(report(tmp_path, *records))
    assert "\\x1b[2J" in shown
    assert "entropy_alert" in shown
    assert all(character.isprintable() for character in shown if character != "\n")


def test_text_of_agents_cannot_steer_standard_error(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    path.write_text(json.dumps(log(0, session=EVIL, action={"status": EVIL})) + "\n")
    shown = CliRunner().invoke(main, ["detect", str(path)]).stderr
    refused, nothing = shown.splitlines()
    assert refused.isprintable()
    assert nothing.startswith("eddy: Nothing was scored")


def test_text_of_agents_is_no_markup_on_a_terminal() -> None:
    terminal = Terminal()
    line_writer(terminal)(Line.of(TextSpan("[red]bold[/red] :boom: https://x.example")))
    assert "[red]bold[/red] :boom: https://x.example" in terminal.getvalue()


@pytest.mark.parametrize(("cut", "widths"), [(True, [30]), (False, [30, 30, 14])])
def test_a_narrow_terminal_cuts_steps_and_wraps_reasons(
    monkeypatch: pytest.MonkeyPatch, cut: bool, widths: list[int]
) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    terminal = Terminal()
    line_writer(terminal)(Line((TextSpan("a" * 70),), cut=cut))
    assert [len(line) for line in terminal.getvalue().splitlines()] == widths


def test_colours_are_for_terminals_that_want_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    coloured, plain, file = Terminal(), Terminal(), io.StringIO()
    line_writer(coloured)(Line.of(TextSpan("LOOP", "bold red")))
    monkeypatch.setenv("NO_COLOR", "1")
    line_writer(plain)(Line.of(TextSpan("LOOP", "red")))
    line_writer(file)(Line.of(TextSpan("LOOP", "red")))
    assert "\x1b[" in coloured.getvalue()
    assert (plain.getvalue().rstrip(), file.getvalue()) == ("LOOP", "LOOP\n")


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        (
            {"event_type": "divergence_suspected", "signature": ["llm", ""], "repeat_count": 5},
            "llm was called 5 times in a row",
        ),
        (
            {"event_type": "drift_pattern", "pattern": "new_one", "phase": "alert", "target": None},
            "drift_pattern",
        ),
    ],
)
def test_every_alert_has_words(fields: dict[str, Any], text: str) -> None:
    assert sentence(fields) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [("", ""), ("a\tb", "a b"), ("ä 漢 🙂", "ä 漢 🙂"), ("\ud800", "\\ud800"), ("x" * 11, "x" * 9 + "…")],
)
def test_printable_text(text: str, shown: str) -> None:
    assert printable(text, 10) == shown


def test_times_no_calendar_has_are_shown_as_they_are() -> None:
    assert clock(0) == "\u2013"
    assert clock(2**62) == str(2**62)
    assert duration(2**62).endswith(" min")


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda recording: recording.name)
def test_every_recording_can_be_shown_on_a_terminal(
    recording: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    assert of(recording.name)


def again(count: int, session: str, start: int = 0) -> list[dict[str, Any]]:
    call = {"status": "success", "tool_call": "x", "tool_output_summary": "no rows"}
    return [log(number, session=session, action=call) for number in range(start, start + count)]


def test_what_is_known_is_written_before_the_next_record_is_read() -> None:
    written: list[str] = []
    telling = SessionReport(lambda line: written.append(line.text), every_step=False)
    entries = [Entry(record["session_id"], None, record, None) for record in again(4, "s1")]
    for number, judgement in enumerate(judge(entries, DEFAULTS)):
        telling.add(judgement)
        if number == 2:
            assert [line for line in written if "may become a loop" in line]
    assert [line for line in written if "4 times in a row" in line]
    assert not [line for line in written if "records: " in line]


def test_a_session_that_another_one_interrupts_is_named_again_and_counted_once(tmp_path: Path) -> None:
    shown = report(tmp_path, *again(4, "s1"), *again(4, "s2"), *again(1, "s1", start=4))
    headings = [line for line in shown if line.startswith("●")]
    assert headings == [
        "● s1 · agent-1 · 2023-11-14",
        "● s2 · agent-1 · 2023-11-14",
        "● s1 · agent-1 · 2023-11-14 · continued",
        "● s2 · agent-1 · 2023-11-14 · 4 steps in 3 s",
    ]
    assert "         5 steps in 4 s" in shown
    assert len([line for line in shown if "time UTC" in line]) == 1


def test_the_day_is_shown_where_it_changes(tmp_path: Path) -> None:
    records = again(4, "s1")
    records[3]["meta"]["timestamp"] += 3 * 3_600_000
    shown = report(tmp_path, *records, options=("--all-steps",))
    assert shown[0].startswith("● s1 · agent-1 · 2023-11-14")
    assert [line.strip() for line in shown].index("2023-11-15") > 3


def test_only_loops_leaves_out_every_other_session(tmp_path: Path) -> None:
    records = [*again(3, "s1"), *again(5, "s2"), *(log(n, session="s3") for n in range(4))]
    shown = report(tmp_path, *records, options=("--only-loops",))
    assert [line.split()[1] for line in shown if line.startswith(("●", "  ▲"))] == ["s2", "s2"]
    assert "may become a loop" in "\n".join(shown)
    lines = report(tmp_path, *records, options=("--only-loops", "--json"))
    assert [json.loads(line)["eddy"]["verdict"]["level"] for line in lines] == ["LOOP", "LOOP"]


def test_a_flood_of_refused_records_is_a_line_for_each_kind_and_a_count(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    bad = [log(n, action={"status": "done"}) for n in range(500)]
    path.write_text("{\n" * 400 + "".join(json.dumps(record) + "\n" for record in bad))
    first, second, rest, _ = CliRunner().invoke(main, ["detect", str(path)]).stderr.splitlines()
    assert first.startswith("undecodable offset=0 ")
    assert second.startswith("schema_violation offset=400 ")
    assert rest == "898 more records with such problems; --json names the problems of each"


def test_of_a_log_without_times_none_is_shown(tmp_path: Path) -> None:
    calls = [f'{{"id": "c{n}", "function": {{"name": "bash", "arguments": "pytest"}}}}' for n in range(8)]
    messages = "".join(
        f', {{"role": "assistant", "tool_calls": [{call}]}}'
        f', {{"role": "tool", "tool_call_id": "c{n}", "content": "1 failed"}}'
        for n, call in enumerate(calls)
    )
    path = tmp_path / "untimed.json"
    path.write_text(f'[{{"role": "user", "content": "Mend the parser"}}{messages}]')
    shown = CliRunner().invoke(main, ["detect", str(path)]).stdout
    explained = CliRunner().invoke(main, ["explain", "untimed", str(path)]).stdout
    assert "bash: the same call with the same result, 8 times in a row (R1)." in explained
    for text in (shown, explained):
        assert "      4  \u2013         " in text
        assert not [word for word in ("00:00:", "1970", " since ", "8 steps in") if word in text]

"""One session explained, from files: what fired, what nearly did, and the sentence that sums it up."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
from click.testing import CliRunner, Result

from streams.cli import main
from streams.core.offline import Judgement
from streams.operate.explain.explanation import MOST_NAMED, Explanation
from tests.quoted_detectors import quoted
from tests.stream import Stream, decision_log, repeated

Write = Callable[..., str]


def explain(*words: str) -> Result:
    return CliRunner().invoke(main, ["explain", *words])


def sentence(*words: str) -> str:
    result = explain(*words)
    assert result.exit_code == 0, result.output
    return result.stdout.splitlines()[-1]


@pytest.fixture
def written(tmp_path: Path) -> Write:
    def write(*values: dict[str, Any], settings: dict[str, Any] | None = None) -> str:
        path = tmp_path / ("agent.jsonl" if settings is None else "settings.json")
        lines = values if settings is None else (settings,)
        path.write_bytes(b"".join(orjson.dumps(value) + b"\n" for value in lines))
        return str(path)

    return write


def calls(count: int, session: str = "s1", **fields: Any) -> list[dict[str, Any]]:
    return repeated(count, session=session, intent="find it", tool="search", **fields)


LOOPING = """\
● s1 · agent-1 · 2023-11-14 · 4 steps in 3 s
   step  time UTC  uniq verdict  status   tool · intent · target or input
      1  22:13:20  1.00 NORMAL   failure  search · find it
      2  22:13:21  0.50 NORMAL   failure  search · find it
      3  22:13:22  0.33 WARNING  failure  search · find it
         ▲ loop_episode: may become a loop: search: the same call with the same result, 3 times in a row (R1); since 22:13:20
         ▲ divergence_suspected: search was called 3 times in a row
      4  22:13:23  0.25 LOOP     failure  search · find it
         ▲ loop_episode: search: the same call with the same result, 4 times in a row (R1); since 22:13:20
1 rejected, no part of what follows
  offset 5: event_id, meta.trace_id, meta.timestamp, identity.agent_id, identity.agent_type, action.status

What fired
  A4:exact_hash WARNING  offsets 2 to 4, 3 times: confidence 1, steps 1 to 2
  A4:semantic WARNING  offsets 2 to 4, 3 times: confidence 1, steps 1 to 2
  R1 WARNING  offset 3: count 3, search
  R7 WARNING  offset 3: score 4, raised 2 times, search
  A1 WARNING  offsets 3 to 4, 2 times: 3 of the last 3 steps are the same: “find it”, search, failure
  A2:tool WARNING  offset 3: search was called 3 times in a row
  R1 LOOP  offset 4: count 4, search
  R7 LOOP  offset 4: score 6, raised 3 times, search

Episodes
  2023-11-14 22:13:22  offset 3  opened, WARNING: may become a loop: search: the same call with the same result, 3 times in a row (R1); since 22:13:20
  2023-11-14 22:13:23  offset 4  escalated, LOOP: search: the same call with the same result, 4 times in a row (R1); since 22:13:20

Where it stands
  uniqueness 0.25 WARNING
  repeat     run of 4, fires at 3
  drift      0.26 CONTINUE: loop_risk 1, stuck_time 0.2
  budget     none set
  verdict    stuck score 6; last step +2: the previous step again with the same result, offset 3
  node       blocked, after offset 4 of partition 0, settings version 0
  at a limit R1 4, LOOP from 4; R7 6, LOOP from 5; A2:tool 4, WARNING from 3; A4:exact_hash 4, WARNING from 2
  near       A4:dead_end 4 of 5

The session is considered looping: search: the same call with the same result, 4 times in a row (R1); since 22:13:20.
"""  # noqa: E501


def test_a_looping_session_is_explained(written: Write) -> None:
    other = decision_log(session="other")
    path = written(other, *calls(4, error="no match"), {"session_id": "s1"}, other)
    result = explain("s1", path)
    assert (result.exit_code, result.stderr) == (0, "")
    assert quoted(result.stdout) == LOOPING


def test_the_figures_of_a_loop_that_continues_are_those_of_its_newest_alert(written: Write) -> None:
    told = sentence("s1", written(*calls(30, error="no match")))
    count = re.search(r"the same result, (\d+) times", told)
    assert count is not None
    assert int(count[1]) > 20, told


def test_a_session_that_is_not_looping_tells_its_near_misses(written: Write) -> None:
    path = written(
        *(decision_log(f"look at {tool}", tool, "success", number=n) for n, tool in enumerate("abcdbad"))
    )
    assert "\n  near       R7 1.5 of 3\n" in quoted(explain("s1", path).stdout)
    assert sentence("s1", path) == (
        "The session is not considered looping: no rule of the verdict reached LOOP; "
        "the nearest is R7 1.5 of 3."
    )


def test_decisions_that_repeat_with_other_results_are_told_apart_from_a_loop(written: Write) -> None:
    values = [
        decision_log(number=n, status="success", tool="next", tool_output_summary=f"page {n}")
        for n in range(6)
    ]
    assert sentence("s1", written(*values)) == (
        "The session is not considered looping: no rule of the verdict reached LOOP; "
        "yet its decisions repeat (uniqueness 0.2, LOOP): calls or results differ."
    )


def test_a_loop_that_is_over_is_told_as_over(written: Write) -> None:
    after = [
        decision_log(number=n, status="success", intent=f"step {n}", tool=f"tool_{n}") for n in range(4, 7)
    ]
    path = written(*calls(4, error="no match"), *after)
    assert sentence("s1", path) == (
        "The session is not considered looping: it was, once, and came out of it at 22:13:26 UTC."
    )


def test_a_session_that_ended_in_its_loop_is_told_so(written: Write) -> None:
    values = calls(4, error="no match")
    values[-1]["control"] = {"is_terminal": True}
    assert sentence("s1", written(*values)).startswith(
        "The session was considered looping when it ended: search"
    )


def test_what_may_become_a_loop_is_told_so(written: Write) -> None:
    told = sentence("s1", written(*calls(3, error="no match")))
    assert told.startswith(
        "The session is not considered looping, but it may become a loop: search: the same"
    )


def test_a_session_that_waits_in_vain_is_told_by_the_minutes(written: Write) -> None:
    looks = [
        decision_log("wait for the build", "BashOutput", "success", number=n, at_ms=n * 20 * 60_000)
        for n in range(4)
    ]
    told = explain("s1", written(*looks)).stdout
    assert "\n  at a limit R9 60, LOOP from 60;" in told
    assert told.splitlines()[-1] == (
        "The session is considered looping: "
        "BashOutput: 4 looks, and nothing new for 60 minutes (R9); since 22:13:20."
    )


def test_a_verdict_that_is_switched_off_is_told(written: Write) -> None:
    settings = written(settings={"verdict_enabled": False})
    told = sentence("s1", written(*calls(5, error="no match")), "--settings", settings)
    assert told == "The session is not considered looping: the verdict is switched off (verdict_enabled)."


def test_a_session_of_rejected_records_only_is_explained_too(written: Write) -> None:
    told = explain("s1", written({"session_id": "s1"}, {"session_id": "s1", "event_id": "e"}))
    assert told.exit_code == 0
    assert told.stdout.startswith("2 rejected, no part of what follows\n  offset 0: event_id, ")
    assert told.stdout.endswith("\nNothing is known of the session: none of its 2 records was scored.\n")


def test_an_unknown_session_is_wrong_input_and_the_nearest_are_named(written: Write) -> None:
    path = written(*(decision_log(session=name) for name in ("agent-17", "agent-18", "other")))
    result = explain("agent-19", path)
    assert result.exit_code == 2
    assert result.stderr == (
        "eddy: No record of session agent-19 in the files. "
        "The nearest of 3 sessions there: agent-18, agent-17.\n"
    )


def test_the_only_session_is_named_as_that(written: Write) -> None:
    result = explain("nope", written(decision_log(session="agent-17")))
    assert result.stderr.endswith(" nope in the files. The only session there: agent-17.\n")


def test_no_session_at_all_is_said_without_names(written: Write) -> None:
    assert explain("s1", written()).stderr == "eddy: No record of session s1 in the files.\n"


def test_a_long_session_shows_its_end_and_counts_all_of_it(written: Write) -> None:
    path = written(*calls(300, error="no match"))
    told = explain("s1", path).stdout
    assert told.splitlines()[:2] == [
        "The last 40 of 300 records; --all shows every one. What stands below them is about all.",
        "● s1 · agent-1 · 2023-11-14 · 40 steps in 39 s",
    ]
    assert "\n  R1 LOOP  offsets 3 to 299, 297 times: count 4, search\n" in told
    assert len(told.splitlines()) < 60
    assert explain("s1", path, "--last", "2").stdout.startswith("The last 2 of 300 records;")
    every = explain("s1", path, "--all").stdout
    assert sum(" failure  search · find it" in line for line in every.splitlines()) == 300


def test_of_many_rejected_records_the_newest_are_named(written: Write) -> None:
    told = explain("s1", written(*({"session_id": "s1"} for _ in range(MOST_NAMED + 5)))).stdout
    assert (
        f"{MOST_NAMED + 5} rejected, no part of what follows\n  … the last {MOST_NAMED}:\n  offset 5: "
        in told
    )


def test_machines_get_all_of_it(written: Write) -> None:
    document = json.loads(explain("s1", written(*calls(4, error="no match")), "--json", "--last", "2").stdout)
    assert (document["session_id"], document["records"], document["scored"]) == ("s1", 4, 4)
    assert [record["event_id"] for record in document["timeline"]] == ["s1-e2", "s1-e3"]
    [warning] = [each for each in document["fired"] if (each["rule"], each["level"]) == ("R1", "WARNING")]
    assert warning == {
        "rule": "R1",
        "level": "WARNING",
        "times": 1,
        "first_offset": 2,
        "last_offset": 2,
        "evidence": "count 3, search",
    }
    assert [event["phase"] for event in document["episodes"]] == ["opened", "escalated"]
    assert document["eddy"] == document["timeline"][-1]["eddy"]
    assert document["standing"]["level"] == "LOOP"
    assert document["because"].startswith("The session is considered looping")


def test_what_agents_wrote_is_shown_and_never_obeyed(written: Write) -> None:
    name = "s\x1b[2J\u202e"
    values = repeated(3, session=name, tool="x\x1b]0;y\x07", intent="\x9b31m", error="\x1b[31m")
    told = explain(name, written(*values)).stdout
    assert "\\x1b[2J" in told
    assert all(letter.isprintable() or letter == "\n" for letter in told)
    assert explain("none\x1b[2J", written(*values)).stderr.isascii()


def test_a_record_applied_before_is_counted_and_changes_nothing() -> None:
    stream = Stream()
    told = Explanation("s1")
    record = stream.record(decision_log())
    for _ in range(2):
        told.add(Judgement(0, "s1", "e", stream.apply(record)))
    assert (told.scored, told.duplicates, told.records) == (1, 1, 2)


def test_a_session_has_one_place_to_be_found_in() -> None:
    result = explain("s1", "--topic", __file__)
    assert (result.exit_code, "Give files or --topic, not both" in result.stderr) == (2, True)


def test_the_beginning_of_an_id_is_enough_where_no_other_begins_so(written: Write) -> None:
    path = written(*calls(4, "60a3-1", error="no match"), *calls(2, "7b1c-1"), *calls(2, "7b1c-2"))
    assert explain("60a3", path).stdout == explain("60a3-1", path).stdout
    several = explain("7b1c", path)
    assert several.exit_code == 2
    assert "2 sessions in the files begin with 7b1c: 7b1c-1, 7b1c-2. Give more of the id." in several.stderr


def test_a_session_whose_id_is_the_beginning_of_another_is_itself(written: Write) -> None:
    path = written(*calls(4, "s-1", error="no match"), *calls(2, "s-10"))
    assert json.loads(explain("s-1", "--json", path).stdout)["records"] == 4

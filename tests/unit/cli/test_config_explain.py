"""What each rule takes to fire, told to people and to machines."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from streams.cli import main
from streams.cli.text.explanation_text import act, lines
from streams.core.detectors.settings import DEFAULTS
from streams.core.domain.validation import problems
from streams.core.domain.witness import Witness
from streams.core.policy.witness import reachability
from streams.core.proof import prove


def explain(*words: str) -> Result:
    return CliRunner().invoke(main, ["config", "explain", *words])


@pytest.fixture
def under(tmp_path: Path) -> Any:
    def written(**changes: object) -> tuple[str, str]:
        path = tmp_path / "settings.json"
        path.write_text(json.dumps(changes))
        return "--settings", str(path)

    return written


R2_OF_3 = """\
settings version 0: 2 can fire

R2:period3 WARNING fires at record 6
    1. search {"q":"a"} success
    2. search {"q":"b"} success
    3. search {"q":"c"} success
    4. search {"q":"a"} success
    5. search {"q":"b"} success
    6. search {"q":"c"} success

R2:period3 LOOP fires at record 9
    1. search {"q":"a"} success
    2. search {"q":"b"} success
    3. search {"q":"c"} success
    4. search {"q":"a"} success
    5. search {"q":"b"} success
    6. search {"q":"c"} success
    7. search {"q":"a"} success
    8. search {"q":"b"} success
    9. search {"q":"c"} success
"""


def test_a_rule_is_told_record_by_record() -> None:
    result = explain("R2:period3", "--settings", "defaults")
    assert (result.exit_code, result.stdout) == (0, R2_OF_3)


def test_equal_records_share_a_line() -> None:
    result = explain("R1:failing", "--settings", "defaults")
    assert '    1 to 4. search {"q":"price list"} failure: test_login failed\n' in result.stdout


def test_all_rules_are_told_and_what_is_off_is_no_problem() -> None:
    result = explain("--settings", "defaults")
    assert result.exit_code == 0
    can_fire = sum(each.reachable for each in reachability(DEFAULTS))
    assert result.stdout.startswith(f"settings version 0: {can_fire} can fire, 2 off on purpose\n")
    assert "\nA2:system WARNING is off: repeat_thresholds.system > repeat_ring_size\n" in result.stdout
    for proof in prove(DEFAULTS):
        assert f"\n{proof.row.rule} {proof.row.level} " in result.stdout


def test_an_escalation_tells_how_many_records_complete_its_pattern() -> None:
    result = explain("A3:escalation", "--settings", "defaults")
    assert "fires at record 4, which is number 2 in a row to complete a pattern\n" in result.stdout


def test_a_name_stands_for_all_that_belongs_to_it_in_either_case() -> None:
    result = explain("a3", "--settings", "defaults", "--json")
    names = [rule["rule"] for rule in json.loads(result.stdout)["rules"]]
    assert names == ["A3:read_loop", "A3:edit_revert", "A3:test_fail_loop", "A3:escalation"]


def test_an_unknown_rule_is_wrong_usage_and_the_rules_are_named() -> None:
    result = explain("R", "--settings", "defaults")
    assert result.exit_code == 2
    assert "There is no rule R." in result.stderr
    assert "A3:read_loop" in result.stderr


def test_a_rule_that_cannot_fire_names_the_settings_in_the_way_and_is_a_problem(under: Any) -> None:
    result = explain("R1", *under(verdict_statuses=["failure"]))
    assert result.exit_code == 1
    assert "R1 LOOP cannot fire: verdict_statuses has none of success, skipped, pending\n" in result.stdout
    assert result.stderr == ""


def test_a_problem_with_another_rule_does_not_count(under: Any) -> None:
    assert explain("A3", *under(read_tools=[])).exit_code == 1
    assert explain("R7", *under(read_tools=[])).exit_code == 0


def test_a_long_sequence_is_cut_in_the_middle(under: Any) -> None:
    told = explain("R2:period4", *under(cycle_loop=250)).stdout.splitlines()
    assert told[-8:] == [
        *(f'    {number}. search {{"q":"{turn}"}} success' for number, turn in enumerate("abcdab", 1)),
        "    …",
        '    1000. search {"q":"d"} success',
    ]


def test_what_is_too_long_to_be_run_says_so(under: Any) -> None:
    result = explain("A3:escalation", *under(pattern_alpha=1e-7))
    assert result.exit_code == 0
    assert "; not proven: " in result.stdout
    assert "are more than the 2000 that are run\n" in result.stdout


def test_a_sequence_that_is_too_long_to_be_told_whole_shows_its_ends() -> None:
    endless = Witness(10**12, lambda number: {"action": {"status": "success", "tool_call": f"t{number % 2}"}})
    assert list(lines(endless)) == [
        *(f"{number}. t{number % 2} success" for number in range(1, 7)),
        "…",
        f"{10**12}. t0 success",
    ]


def test_machines_get_the_records_themselves() -> None:
    result = explain("R7", "--settings", "defaults", "--json")
    document = json.loads(result.stdout)
    assert document["version"] == 0
    warning, loop = document["rules"]
    assert (warning["level"], warning["finding"], warning["why"]) == ("WARNING", "proven", None)
    assert (loop["shortest"], loop["records"], len(loop["sequence"])) == (4, 4, 4)
    assert [list(problems(value)) for value in loop["sequence"]] == [[]] * 4


def test_machines_are_told_what_is_in_the_way(under: Any) -> None:
    result = explain("R1", *under(verdict_statuses=["failure"]), "--json")
    assert result.exit_code == 1
    warning, *_ = json.loads(result.stdout)["rules"]
    assert (warning["finding"], warning["records"], warning["sequence"]) == ("impossible", None, None)


def test_a_settings_file_that_sets_what_cannot_be_is_wrong_usage(under: Any) -> None:
    result = explain("R2", *under(cycle_loop=0))
    assert result.exit_code == 2
    assert "cycle_loop: must be an integer from 2 to 1000" in result.stderr


def test_a_settings_file_that_is_not_there_is_wrong_usage(tmp_path: Path) -> None:
    result = explain("--settings", str(tmp_path / "none.json"))
    assert result.exit_code == 2
    assert "none.json" in result.stderr


def test_settings_of_other_people_are_safe_to_print() -> None:
    told = act({"action": {"status": "success", "tool_call": "x\x1b[2J", "kind": "k\x07"}})
    assert told == "x\\x1b[2J success, kind k\\x07"

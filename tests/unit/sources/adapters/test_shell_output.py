"""The heads that coding agents put before the output of a command."""

import pytest

from streams.sources.adapters.shell_output import codex_output

HEAD = "Chunk ID: {chunk}\nWall time: {time} seconds\nProcess exited with code 1\nOutput:\n"


def test_two_equal_outputs_are_equal_whatever_their_heads_say() -> None:
    first = codex_output(HEAD.format(chunk="5fb076", time="0.0001") + "no such file\n")
    second = codex_output(HEAD.format(chunk="9efb76", time="1.4") + "no such file\n")
    assert first == second
    assert first.text == "no such file"


def test_an_exit_code_other_than_zero_is_a_failure() -> None:
    assert codex_output("Exit code: 127\nWall time: 0 seconds\nOutput:\nnot found").status == "failure"
    assert codex_output("Exit code: 0\nWall time: 0 seconds\nOutput:\nok").status == "success"
    assert codex_output('{"output":"x","metadata":{"exit_code":1}}').status == "failure"


def test_a_command_that_still_runs_has_no_exit_code() -> None:
    head = "Chunk ID: 5fb076\nWall time: 10 seconds\nProcess running with session ID 4711\nOutput:\n"
    assert codex_output(head + "building") == ("building", None)


def test_an_output_that_speaks_of_an_exit_code_keeps_its_words() -> None:
    assert codex_output("see Exit code: 1\nOutput:\nx") == ("see Exit code: 1\nOutput:\nx", None)


@pytest.mark.parametrize("text", ["", "{", '{"output": 7}', "Output:\n", "Chunk ID: a", "Chunk ID: a\nmore"])
def test_a_text_without_a_whole_head_stays_as_it_is(text: str) -> None:
    assert codex_output(text) == (text, None)


def test_an_output_may_be_empty() -> None:
    assert codex_output("Chunk ID: a\nProcess exited with code 0\nOutput:\n") == ("", 0)
    assert codex_output("Chunk ID: a\nProcess exited with code 0\nOutput:") == ("", 0)

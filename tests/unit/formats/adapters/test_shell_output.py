"""The heads that coding agents put before the output of a command."""

import pytest

from streams.formats.adapters.shell_output import agent_output, codex_output, gemini_output, mini_output

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


def test_gemini_writes_ids_below_the_output_and_a_label_before_it() -> None:
    inner = "Output: a\nExit Code: 1\nb\nExit Code: 2\nProcess Group PGID: {}"
    text = f"<untrusted_context>\n{inner}\n</untrusted_context>"
    assert gemini_output(text.format(1042)) == gemini_output(text.format(1050)) == ("a\nExit Code: 1\nb", 2)
    assert gemini_output("<untrusted_context>\nx = 1\n</untrusted_context>") == ("x = 1", None)


def test_a_long_output_of_mini_swe_agent_keeps_its_text() -> None:
    text = "<returncode>0</returncode>\n<warning>too long</warning>\n<output_head>x</output_head>"
    assert mini_output(text) == (text, 0)


def test_the_output_of_an_agent_that_is_not_known_is_read_by_its_form() -> None:
    assert agent_output("Exit code: 1\nOutput:\nx") == ("x", 1)
    assert agent_output("Output: x\nExit Code: 1") == ("x", 1)
    assert agent_output("<returncode>1</returncode>\n<output>\nx</output>") == ("x", 1)
    assert agent_output("x") == ("x", None)
    assert agent_output("Output: x") == ("Output: x", None)

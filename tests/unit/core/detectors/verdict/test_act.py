"""What a step does, told by the words of its tool and of its command (specification 6.2b)."""

import orjson
import pytest

from streams.core.detectors.settings import DEFAULTS
from streams.core.detectors.verdict.act import Act, act_of, asks_a_person
from streams.core.domain.decision import Decision
from tests.stream import decision_log


def act(tool: str | None, arguments: str = "{}", **action: str) -> Act:
    value = decision_log("work", tool, "success", tool_input=arguments, **action)
    return act_of(Decision.of(0, 0, value), DEFAULTS)


def act_of_line(line: str) -> Act:
    return act("bash", orjson.dumps({"command": line}).decode())


@pytest.mark.parametrize(
    ("tool", "expected"),
    [
        (None, Act.SAYS),
        ("", Act.SAYS),
        ("edit_file", Act.ACTS),
        ("read_file", Act.ASKS),
        ("sendMessage", Act.ACTS),
        ("browser-click", Act.ACTS),
        ("getUser", Act.ASKS),
        ("list_and_delete", Act.ACTS),
        ("mystery", Act.UNKNOWN),
        ("getter", Act.UNKNOWN),
        ("wait_for_job", Act.WAITS),
        ("TaskOutput", Act.WAITS),
        ("bash_output", Act.WAITS),
        ("HTTPGet", Act.UNKNOWN),
        ("get" + "_x" * 200, Act.UNKNOWN),
    ],
)
def test_a_tool_is_known_by_its_class_and_the_words_of_its_name(tool: str | None, expected: Act) -> None:
    assert act(tool) is expected


def test_a_call_of_another_kind_is_unknown() -> None:
    assert act("edit_file", kind="mcp") is Act.UNKNOWN


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [("{}", Act.WAITS), ('{"chars": ""}', Act.WAITS), ('{"chars": "y"}', Act.UNKNOWN)],
)
def test_writing_nothing_to_a_terminal_waits(arguments: str, expected: Act) -> None:
    assert act("write_stdin", arguments) is expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("ls -la | head -5", Act.ASKS),
        ("cd src && grep -n x *.py; wc -l a", Act.ASKS),
        ("git status", Act.ASKS),
        ("git commit -m x", Act.ACTS),
        ("git bisect", Act.UNKNOWN),
        ("ls && pytest", Act.UNKNOWN),
        ("ls && rm -r build", Act.ACTS),
        ("sudo FOO=1 rm x", Act.ACTS),
        ("sed -n 1,5p a", Act.ASKS),
        ("sed -i s/a/b/ a", Act.ACTS),
        ("cat a > b", Act.ACTS),
        ("cat a 2>/dev/null", Act.ASKS),
        ("cat a 2>&1", Act.ASKS),
        ("cat <<EOF", Act.ACTS),
        ("python -c \"open('a', 'w').write('x')\"", Act.ACTS),
        ("true", Act.IDLES),
        ("echo done && pwd", Act.IDLES),
        ("echo $HOME", Act.ASKS),
        ("echo x > a", Act.ACTS),
        ("sleep 0", Act.IDLES),
        ("sleep 30 && curl x", Act.WAITS),
        ("rm a; wait", Act.WAITS),
        ("gh run watch 7", Act.WAITS),
        ("tools.wait(3)", Act.WAITS),
        ("", Act.UNKNOWN),
        ("curl -XPOST http://x", Act.ACTS),
        ("curl http://x", Act.UNKNOWN),
    ],
)
def test_a_command_is_known_by_its_words(line: str, expected: Act) -> None:
    assert act_of_line(line) is expected


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ('{"cmd": ["bash", "-lc", "x"]}', Act.UNKNOWN),
        ('{"cmd": ["ls", "-l"]}', Act.ASKS),
        ('{"script": "rm a", "cwd": "/"}', Act.ACTS),
        ("ls", Act.ASKS),
        ('{"command": "rm a", "c": "ls"}', Act.ACTS),
    ],
)
def test_the_line_is_taken_from_the_arguments(arguments: str, expected: Act) -> None:
    assert act("bash", arguments) is expected


def test_the_first_thousand_characters_of_a_line_count() -> None:
    assert act_of_line("echo " + "x" * 994 + "; rm a") is Act.IDLES
    assert act_of_line("echo " + "x" * 900 + "; rm a") is Act.ACTS


@pytest.mark.parametrize(
    ("tool", "expected"),
    [
        ("AskUserQuestion", True),
        ("ask_human", True),
        ("request_user_input", True),
        ("ask_followup_question", True),
        ("UserInput", True),
        ("create_user", False),
        (None, False),
    ],
)
def test_a_tool_that_asks_a_person_is_known_by_its_name(tool: str | None, expected: bool) -> None:
    assert asks_a_person(tool) is expected

"""What the documents promise exists: commands and their options, variables, paths, targets of make."""

import ast
import itertools
import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
import yaml
from click.testing import CliRunner

from streams.cli import main
from streams.cli.settings import READERS
from streams.core.detectors.settings import DEFAULTS
from streams.core.detectors.verdict.step import POINTS
from streams.core.detectors.verdict.stuck import MOST
from streams.core.native import VARIABLE as NATIVE_VARIABLE
from streams.core.settings_document import RANGES
from streams.observe.settings import CommandSettings, WorkerSettings
from streams.worker.crash_point import crash_point
from tests.faults.kinds import KINDS
from tests.pages import (
    CONTRIBUTING,
    CONTROL,
    DETECTION,
    FAULT_HARNESS,
    GETTING_STARTED,
    INBOX,
    PERSONAL_DATA,
    README,
    ROOT,
    SECURITY,
    WATCH,
    Page,
)
from topics.catalogue import Catalogue

VARIABLES = {
    f"EDDY_{name.upper()}" for kind in (*READERS.values(), CommandSettings) for name in kind.model_fields
} | {NATIVE_VARIABLE}
#: Where people read of variables.
TEXTS = [
    ROOT / "README.md",
    ROOT / "CHANGELOG.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "SECURITY.md",
    ROOT / "docker-compose.yml",
    ROOT / "Dockerfile",
    *sorted((ROOT / "docs").rglob("*.md")),
]
SOURCES = sorted(
    path for package in ("streams", "schemas", "topics") for path in (ROOT / package).rglob("*.py")
)
#: In the source alone: for tests, and what Faust puts before its own variables.
NO_SETTINGS = {"EDDY_CRASH_POINT", "EDDY_FAUST_", "EDDY_HOOK_FILE", "EDDY_WATCH_SOCKET"}
#: What a guard in the process of an agent reads.
GUARDS = {"EDDY_GUARD_URL", "EDDY_GUARD_TOKEN"}
#: The page for those who run such tests.
HARNESS = ROOT / "docs" / "fault-harness.md"

VARIABLE = re.compile(r"\bEDDY_[A-Z_]*")
CALL = re.compile(r"`eddy ([a-z][^`]*)`")

OPTION = re.compile(r"(?<![\w?-])--[a-z][a-z-]+")
#: Modules and packages that only one command uses.
OWNERS = {
    "demo": "demo",
    "forget": "forget",
    "broker": "broker",
    "send": "send",
    "detect": "detect",
    "report": "detect",
    "rejections": "detect",
    "evaluate": "evaluate",
    "explain": "explain",
    "ingest": "ingest",
    "ingest_summary": "ingest",
    "live": "ingest",
    "backtest": "backtest",
    "doctor": "doctor",
    "dlq": "dlq",
    "letter_text": "dlq",
    "redrive": "dlq redrive",
    "top": "top",
    "top_list": "top",
    "top_live": "top",
    "top_session": "top",
    "topics": "topics",
    "worker": "worker",
    "notify": "notify",
    "session": "session",
    "session_issue": "session",
    "command_text": "session",
}
#: Options of programs that are not ours: the embedded broker, Kafka's own tools.
OTHER_TOOLS = {
    "--abbrev",
    "--alter",
    "--always",
    "--advertised-listener-url",
    "--cluster-id",
    "--dirty",
    "--fix",
    "--exclude",
    "--listener-url",
    "--reset-offsets",
    "--storage-engine",
    "--write",
}

#: The pages that a person follows step by step, by name.
FOLLOWED = {
    "README": README,
    "getting started": GETTING_STARTED,
    "detection": DETECTION,
    "contributing": CONTRIBUTING,
    "fault harness": FAULT_HARNESS,
    "security": SECURITY,
    "control": CONTROL,
    "watch": WATCH,
    "inbox": INBOX,
    "personal data": PERSONAL_DATA,
}
#: Written like a path in one of them, and none; or only there once a target was made.
NO_PATHS = {
    "session-alerts-value/2",
    ".cache/sources",
    ".cache/sources/bin/pip",
    ".cache/guard",
    "share/man",
}
MOST_LINES_OF_THE_README = 142


def every_command(
    command: click.Command = main, words: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Yield the commands with the words that call them."""
    yield words, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from every_command(below, (*words, name))


COMMANDS = dict(every_command())


def called(words: list[str]) -> tuple[click.Command, list[str]]:
    """Return the command that words call, and the words after its name."""
    depth = max(length for length in range(len(words) + 1) if tuple(words[:length]) in COMMANDS)
    return COMMANDS[tuple(words[:depth])], words[depth:]


def is_half_a_call(command: click.Command, rest: list[str]) -> bool:
    """Tell whether words lack a command: a group that is one itself may have options."""
    if not isinstance(command, click.Group) or not rest:
        return False
    return not command.invoke_without_command or not rest[0].startswith("--")


def names_a_variable(text: str) -> bool:
    """Tell whether it is a variable, or the beginning of several, written `EDDY_SSL_...`."""
    return text in VARIABLES or (text.endswith("_") and any(name.startswith(text) for name in VARIABLES))


def messages(path: Path) -> Iterator[str]:
    """Yield the texts of a module, those of one sentence as one."""
    pieces: set[ast.AST] = set()
    for node in ast.walk(ast.parse(path.read_text())):  # a text comes before its pieces
        match node:
            case ast.JoinedStr(values=values):
                pieces.update(values)
                yield "".join(str(part.value) if isinstance(part, ast.Constant) else "?" for part in values)
            case ast.Constant(value=str(text)) if node not in pieces:
                yield text


def options_named(path: Path) -> set[str]:
    """Return the options that the texts of a module name, but for those of another command in backticks."""
    return {option for text in messages(path) for option in OPTION.findall(re.sub(r"`[^`]*`", "", text))}


def commands_of(path: Path) -> set[tuple[str, ...]]:
    """Return the commands that may write what a module says; all of them where many use it."""
    within = path.relative_to(ROOT / "streams").parts if path.is_relative_to(ROOT / "streams") else ()
    owners = [OWNERS[stem] for part in within if (stem := part.removesuffix(".py")) in OWNERS]
    name = tuple(owners[0].split()) if owners else ()
    return {words for words in COMMANDS if words[: len(name)] == name}


def options_of(names: set[tuple[str, ...]]) -> set[str]:
    """Return the options of commands."""
    return {option for words in names for each in COMMANDS[words].params for option in each.opts} | {"--help"}


# -- commands ------------------------------------------------------------------------------------------------


def shown() -> list[list[str]]:
    """Return every call of `eddy` that a person who follows the pages may type."""
    calls = {tuple(words) for page in FOLLOWED.values() for words in page.commands()}
    return [list(words) for words in sorted(calls)]


def test_the_pages_show_every_command() -> None:
    assert {words[0] for words in shown()} == {words[0] for words in COMMANDS if len(words) == 1}


def test_the_readme_shows_three_commands_and_two_programs() -> None:
    """Its first page: longer, and nobody reads it."""
    (console,) = [block for block in README.blocks("console") if "eddy worker" in block]
    assert console.count("$ eddy ") == 3
    assert len(README.blocks("python")) == 2
    assert len(README.text.splitlines()) <= MOST_LINES_OF_THE_README


def test_the_loop_of_the_readme_is_what_the_command_prints(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    (picture,) = [block for block in README.blocks("console") if "eddy detect streams/" in block]
    prompt, *lines = picture.splitlines()
    printed = CliRunner().invoke(main, shlex.split(prompt)[2:]).stdout.splitlines()
    shortened = [line.partition("...")[0] for line in lines if line.strip() != "..."]
    places = [
        next(number for number, full in enumerate(printed) if full.startswith(line)) for line in shortened
    ]
    assert len(places) >= 8
    assert places == sorted(places)
    gaps = [later - place > 1 for place, later in itertools.pairwise([*places, len(printed)])]
    marks = [following.strip() == "..." for following in [*lines[1:], ""]]
    assert gaps == [mark for line, mark in zip(lines, marks, strict=True) if line.strip() != "..."], (
        "three dots stand wherever lines are left out"
    )


@pytest.mark.parametrize("words", shown(), ids=" ".join)
def test_every_command_of_the_pages_can_be_typed(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for word in words:
        if word.endswith(".jsonl"):
            Path(word).parent.mkdir(parents=True, exist_ok=True)
            Path(word).touch()
    command, rest = called(words)
    assert not is_half_a_call(command, rest), f"{rest[0]} is no command"
    if words == ["config", "get"]:
        rest = [next(iter(RANGES))]  # the page leaves the name out
    try:
        command.make_context(" ".join(words), rest)  # parses and checks, runs nothing
    except click.exceptions.Exit as ended:
        assert ended.exit_code == 0  # noqa: PT017 - it is how --help ends


def test_every_setting_that_the_pages_set_is_one() -> None:
    assigned = {
        word.partition("=")[0]
        for words in shown()
        if words[:2] == ["config", "set"]
        for word in words[2:]
        if "=" in word
    }
    assert assigned
    assert assigned <= RANGES.keys()


@pytest.mark.parametrize("path", [*SOURCES, *TEXTS[1:]], ids=lambda path: str(path.relative_to(ROOT)))
def test_every_command_in_a_message_or_a_comment_exists(path: Path) -> None:
    for call in CALL.findall(path.read_text()):
        command, rest = called(call.split())
        assert not is_half_a_call(command, rest), f"`eddy {call}`"
        options = {option for parameter in command.params for option in parameter.opts}
        assert {word for word in rest if word.startswith("--")} <= options, f"`eddy {call}`"


def test_every_option_in_a_message_is_one_of_the_commands_that_write_it() -> None:
    """`eddy demo` once advised an option that only other commands have."""
    wrong = {
        (str(path.relative_to(ROOT)), option)
        for path in SOURCES
        for option in options_named(path)
        if option not in options_of(commands_of(path)) | OTHER_TOOLS
    }
    assert wrong == set()


def test_every_extra_and_target_in_a_message_exists() -> None:
    extras = set[str]()
    for file in ("pyproject.toml", "client/pyproject.toml"):
        extras |= tomllib.loads((ROOT / file).read_text())["project"]["optional-dependencies"].keys()
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    advised = [text for path in SOURCES for text in messages(path)]
    named = {extra for text in advised for extra in re.findall(r"its extra `([^`]+)`", text)}
    assert "demo" in named
    assert named <= extras
    assert {target for text in advised for target in re.findall(r"`make ([a-z-]+)`", text)} <= set(targets)


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_group_shows_the_first_sentence_of_each_command_whole(words: tuple[str, ...]) -> None:
    group = COMMANDS[words]
    if not isinstance(group, click.Group):
        return
    context = click.Context(group, terminal_width=80, **main.context_settings)
    shown = " ".join(group.get_help(context).split())
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        assert f"{name} {command.get_short_help_str(200)}" in shown


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_help_fits_a_terminal_of_80_columns(words: tuple[str, ...]) -> None:
    name = " ".join(("eddy", *words))
    context = click.Context(COMMANDS[words], info_name=name, terminal_width=80, **main.context_settings)
    assert [line for line in COMMANDS[words].get_help(context).splitlines() if len(line) > 80] == []


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_command_and_option_has_help(words: tuple[str, ...]) -> None:
    command = COMMANDS[words]
    assert (command.help or "").strip()
    assert command.get_short_help_str(200).endswith(".")
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert parameter.help, parameter.name


def test_every_variable_that_help_names_is_a_setting() -> None:
    named = {
        variable
        for command in COMMANDS.values()
        for parameter in command.params
        if isinstance(parameter, click.Option)
        for variable in VARIABLE.findall(parameter.help or "")
    }
    assert "EDDY_BOOTSTRAP_SERVERS" in named
    assert named <= VARIABLES


# -- variables -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_variable_in_a_document_is_a_setting(path: Path) -> None:
    others = GUARDS | (NO_SETTINGS if path == HARNESS else set())
    named = set(VARIABLE.findall(path.read_text())) - others
    assert [name for name in named if not names_a_variable(name)] == []


def test_every_variable_in_a_message_is_a_setting() -> None:
    named = {name for path in SOURCES for name in VARIABLE.findall(path.read_text())}
    assert "EDDY_WEB_PORT" in named
    assert {name for name in named - NO_SETTINGS if not names_a_variable(name)} == set()


def test_a_published_port_of_the_compose_file_reaches_the_worker() -> None:
    worker = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]["worker"]
    assert all(port.endswith(f":{worker['environment']['EDDY_WEB_PORT']}") for port in worker["ports"])
    # On its own loopback address a container answers nobody.
    assert worker["environment"]["EDDY_WEB_HOST"] == "0.0.0.0"


# -- names in the pages --------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", FOLLOWED.values(), ids=FOLLOWED)
def test_every_path_of_a_page_exists(page: Page) -> None:
    spans = page.spans()
    paths = {span for span in spans if re.fullmatch(r"\.?[\w-][\w.-]*(/[\w.-]+)+", span)} - NO_PATHS
    paths |= {span for span in spans if re.fullmatch(r"[\w-]+\.(py|md|yml|yaml|toml|avsc)", span)}
    assert [path for path in sorted(paths) if not (ROOT / path).exists()] == []


def test_the_pages_name_paths() -> None:
    spans = {span for page in FOLLOWED.values() for span in page.spans()}
    assert spans >= NO_PATHS
    assert "schemas/decision-logs-value/v1.avsc" in spans


def test_every_target_of_make_exists() -> None:
    makefile = (ROOT / "Makefile").read_text()
    targets = {
        target for line in re.findall(r"^\.PHONY: (.*)$", makefile, re.MULTILINE) for target in line.split()
    }
    pages = FOLLOWED.values()
    calls = [words[1:] for page in pages for words in page.prompts() if words[0] == "make"]
    calls += [shlex.split(span)[1:] for page in pages for span in page.spans() if span.startswith("make ")]
    named = {word for words in calls for word in words if not word.startswith(("ARGS=", "KEY="))}
    assert {"setup", "test"} <= named
    assert named <= targets


def test_every_topic_of_the_drawing_exists() -> None:
    (drawing,) = GETTING_STARTED.blocks("")
    names = re.findall(r"\b(?:otlp_)?[a-z]+(?:-[a-z]+)+\b|\botlp_spans\b(?!-)", drawing)
    drawn = set(names) | ({"topology"} & set(drawing.split()))
    assert drawn == {topic.name for topic in Catalogue.load().topics if not topic.internal}


def test_the_numbers_of_the_pages_are_the_defaults() -> None:
    text = " ".join(DETECTION.text.split())
    thresholds, patterns = DEFAULTS.repeat_thresholds, DEFAULTS.pattern_theta
    loop, warning = DEFAULTS.entropy_loop_threshold, DEFAULTS.entropy_warning_threshold
    for statement in (
        f"the last {DEFAULTS.entropy_window_size} (intent, tool, status)",
        f"LOOP below {loop:.2f}, WARNING below {warning:.2f}",
        f"{thresholds['tool']} for tools, {thresholds['llm']} for LLM calls",
        f"one file read {patterns} times",
        f"window {DEFAULTS.loop_window_size} | `eddy.loop`",
        f"5 levels from {DEFAULTS.nudge_threshold:.2f} to {DEFAULTS.stop_threshold:.2f}",
        f"{DEFAULTS.initial_steps} steps, {DEFAULTS.initial_tokens:,} tokens",
        f"the same call with the same result | {DEFAULTS.identical_loop} in a row",
        f"2 to {DEFAULTS.cycle_max_period} steps with the same results",
        f"with the same results | {DEFAULTS.cycle_loop} rounds",
        f"from which nothing comes | {DEFAULTS.waiting_loop_minutes} minutes",
        f"R9 warns after {DEFAULTS.waiting_warn_minutes} minutes",
        f"a stuck score of {DEFAULTS.stuck_loop:g} |",
        f"warns from {DEFAULTS.stuck_warn:g} (`stuck_warn`)",
        f"is a loop from {DEFAULTS.stuck_loop:g} (`stuck_loop`)",
        f"stays between 0 and {MOST:g}",
        f"comparison with the newest {DEFAULTS.verdict_window}",
        f"one command fails {patterns} times",
    ):
        assert statement in text
    port = WorkerSettings.model_fields["web_port"].default
    assert f"loopback port {port} " in " ".join(GETTING_STARTED.text.split())
    assert text.count(f"| window {DEFAULTS.pattern_window} |") == 3


def test_the_points_of_the_page_are_those_of_the_kinds_of_steps() -> None:
    rows = re.findall(r"^\| .* \| ((?:`\w+`(?:, )?)+) \| ([+-]?[\d.]+) \|$", DETECTION.text, re.MULTILINE)
    named = {kind: float(points) for kinds, points in rows for kind in re.findall(r"\w+", kinds)}
    assert named | {"first": 0.0} == POINTS


def test_every_value_for_a_crash_point_names_one() -> None:
    values = re.findall(r"^\| `([a-z_.:0-9]+)` \| ", FAULT_HARNESS.text, re.MULTILINE)
    assert len(values) >= 4
    for value in values:
        crash_point(value)  # raises if there is none


def test_every_kind_of_fault_is_in_the_table_of_the_guarantees() -> None:
    page = (ROOT / "docs" / "guarantees.md").read_text()
    assert [kind for kind in KINDS if f"\n| {kind} | " not in page] == []


# -- the index -----------------------------------------------------------------------------------------------


def test_the_index_has_every_document_once() -> None:
    folder = ROOT / "docs"
    listed = re.findall(
        r"^- \[[^\]]+\]\(([^)#]+\.md)\): \S", (folder / "README.md").read_text(), re.MULTILINE
    )
    documents = {path.relative_to(folder).as_posix() for path in folder.rglob("*.md")} - {"README.md"}
    within = [target for target in listed if not target.startswith("../")]
    assert sorted(within) == sorted(documents), "docs/README.md lists each document in one line"

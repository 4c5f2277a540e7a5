"""`eddy detect` on the logs of other programs: an overview of folders, the known places, what is left out."""

import shlex
import shutil
from pathlib import Path

import orjson
import pytest
from click.testing import CliRunner, Result

from streams.cli import main

SAMPLES = Path(__file__).parents[2] / "samples"
CLAUDE = SAMPLES / "claude_code" / "loop.jsonl"
SESSION = "60a3a234-959c-4117-a460-46f4b3ac184b"


def run(*arguments: str | Path, command: str = "detect", home: Path | None = None) -> Result:
    environment = {} if home is None else {"HOME": str(home)}
    return CliRunner().invoke(main, [command, *map(str, arguments)], env=environment)


@pytest.fixture
def projects(tmp_path: Path) -> Path:
    """Return a folder of Claude Code's logs: a session in a loop, and two healthy ones."""
    folder = tmp_path / ".claude" / "projects" / "-srv-app"
    folder.mkdir(parents=True)
    shutil.copy(CLAUDE, folder / f"{SESSION}.jsonl")
    lines = [orjson.loads(line) for line in CLAUDE.read_bytes().splitlines()]
    first = next(number for number, line in enumerate(lines) if line.get("type") == "assistant")
    for name in ("healthy-1", "healthy-2"):
        told = [
            line | {"sessionId": name, "uuid": f"{name}-{n}"} for n, line in enumerate(lines[: first + 3])
        ]
        text = b"\n".join(map(orjson.dumps, told)).replace(b"toolu_", name.encode())
        (folder / f"{name}.jsonl").write_bytes(text)
    return folder.parent


def test_a_folder_gives_an_overview_with_the_command_to_look_at_a_session(projects: Path) -> None:
    result = run(projects)
    shown = result.stdout.splitlines()
    file = projects / "-srv-app" / f"{SESSION}.jsonl"
    assert result.exit_code == 0, result.output
    assert shown[0] == "1 of 3 sessions went in circles and spent 1,110 tokens there:"
    assert shown[3] == f"▲          1,110  2026-11-22 19:39:08  3 s        {SESSION}"
    assert shown[4].strip() == (
        "Bash: the same call with the same result, 6 times in a row (R1): cat config/settings.toml"
    )
    assert next(line for line in shown if "healthy" in line).startswith("2 sessions healthy")
    assert shown[-1] == f"Step by step: eddy explain {SESSION} {file}"


def test_the_command_it_recommends_shows_that_session(projects: Path) -> None:
    arguments = run(projects).stdout.splitlines()[-1].removeprefix("Step by step: eddy explain ").split()
    assert "is considered looping: Bash" in run(*arguments, command="explain").stdout


def test_without_a_path_the_known_places_are_read_and_named(projects: Path) -> None:
    home = projects.parent.parent
    result = run(home=home)
    assert "1 of 3 sessions went in circles" in result.stdout
    assert "claude-code: 3 files in ~/.claude/projects" in result.stderr


def test_a_session_of_the_known_places_is_explained_by_the_beginning_of_its_id(projects: Path) -> None:
    result = run(SESSION[:8], command="explain", home=projects.parent.parent)
    assert f"● {SESSION}" in result.stdout
    assert "is considered looping: Bash" in result.stdout


def test_without_logs_in_the_known_places_it_says_where_it_looked(tmp_path: Path) -> None:
    result = run(home=tmp_path)
    assert result.exit_code == 2
    assert "~/.claude/projects" in result.stderr


def test_with_every_step_a_folder_gives_timelines(projects: Path) -> None:
    assert "● " in run(projects, "--all-steps").stdout


def test_a_file_gives_a_timeline() -> None:
    assert run(CLAUDE).stdout.startswith(f"● {SESSION}")


def test_only_loops_leaves_the_healthy_sessions_out(projects: Path) -> None:
    assert "healthy" not in run(projects, "--only-loops").stdout


def test_a_loop_in_a_folder_is_a_failure_on_request(projects: Path) -> None:
    assert run(projects, "--fail-on-loop").exit_code == 1


def test_what_is_left_out_is_counted_on_standard_error(projects: Path) -> None:
    (projects / "notes.md").write_text("once upon a time")
    cut = CLAUDE.read_bytes().splitlines()
    calls = [number for number, line in enumerate(cut) if b'"tool_use"' in line]
    text = b"\n".join(cut[: calls[1] + 1]).replace(SESSION.encode(), b"cut").replace(b"toolu_", b"cut\x1b_")
    (projects / "cut.jsonl").write_bytes(text.replace(b"\x1b", b"\\u001b").replace(b'"uuid":"', b'"uuid":"c'))
    said = run(projects).stderr
    assert "1 file left out because no format fits: " in said
    assert "type queue-operation" in said
    assert "calls without a result, not judged: 1; the first: " in said
    assert "\x1b" not in said


def test_a_file_that_no_format_fits_is_one_sentence_and_2(tmp_path: Path) -> None:
    path = tmp_path / "notes.md"
    path.write_text("once upon a time")
    result = run(path)
    assert result.exit_code == 2
    [said] = result.stderr.splitlines()
    assert "fits no format: tried avro, jsonl, " in said
    assert "--format" in said


def test_a_log_without_steps_scores_nothing_and_ends_with_2(tmp_path: Path) -> None:
    path = tmp_path / "begun.jsonl"
    path.write_bytes(b"\n".join(CLAUDE.read_bytes().splitlines()[:2]))
    result = run(path)
    assert result.exit_code == 2
    assert "Nothing was scored" in result.stderr


def test_a_mapping_file_is_for_every_command_that_reads_files(tmp_path: Path) -> None:
    mapping = tmp_path / "table.toml"
    mapping.write_text('session_id = "run"\ntool = "tool"\narguments = "input"\nresult = "output"\n')
    path = tmp_path / "table.csv"
    path.write_text("run,tool,input,output\n" + "r1,search,config,none\n" * 5)
    assert "1 in a loop" in run("--map", mapping, path).stdout
    assert "4 times in a row" in run("r1", path, "--map", mapping, command="explain").stdout
    assert run("--map", mapping, "--format", "jsonl", path).exit_code == 2
    both = run("--a", "default", "--b", "default", "--map", mapping, path, command="backtest")
    assert both.exit_code == 0, both.output


def recommended(result: Result) -> list[str]:
    line = next(each for each in result.stdout.splitlines() if each.startswith("Step by step: "))
    return shlex.split(line.removeprefix("Step by step: eddy explain "))


def test_the_command_it_recommends_repeats_the_format_and_the_settings(
    projects: Path, tmp_path: Path
) -> None:
    settings = tmp_path / "my settings.json"
    settings.write_text("{}")
    arguments = recommended(run(projects, "--format", "claude-code", "--settings", settings))
    assert arguments[1:5] == ["--format", "claude-code", "--settings", str(settings)]
    assert "is considered looping: Bash" in run(*arguments, command="explain").stdout


def test_the_command_it_recommends_repeats_the_mapping_file(tmp_path: Path) -> None:
    mapping, folder = tmp_path / "map.toml", tmp_path / "logs"
    mapping.write_text('session_id = "run"\ntool = "tool"\narguments = "input"\nresult = "output"\n')
    folder.mkdir()
    for name in ("r1", "r2"):
        rows = [f"{name},search,x,no match"] * 6
        (folder / f"{name}.csv").write_text("\n".join(["run,tool,input,output", *rows]) + "\n")
    result = run(folder, "--map", mapping)
    arguments = recommended(result)
    assert arguments[1:3] == ["--map", str(mapping)]
    assert "is considered looping: search" in run(*arguments, command="explain").stdout
    assert f"eddy explain SESSION --map {mapping} {folder}" in result.stdout

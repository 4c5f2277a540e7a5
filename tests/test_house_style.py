"""The shape of the code: small modules named after one concept, nothing left open, no path of one machine."""

import re
import statistics
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ("streams", "schemas", "topics", "tests", "benchmarks", "docs", "deploy", ".ci")
TEXTS = {".py", ".md", ".yaml", ".yml", ".toml", ".sh", ".avsc", ".html", ".js", ".css", ""}
MOST_LINES = 600
MEDIAN_LINES = 100

# A name of this kind says that nobody knew what belongs in the module.
NAMELESS = re.compile(r"(^|_)(utils?|helpers?|managers?|common|misc|base|stuff)(_|$)")
LEFT_OPEN = re.compile(r"\b(TODO|FIXME|XXX)\b")
WRITES = re.compile(r"\bclick\.(s?echo|get_\w+_stream)|\bprint\(|\bsys\.(stdout|stderr)\b(?!\.fileno)")
EXAMPLE = re.compile(r"\s*(>>>|\.\.\. )")
# A description that begins so leaves out what it describes.
BEGINS_WITH_OF = re.compile(r"""("{3}|#:? |: )Of (?=[a-z])""")
MACHINE_PATH = re.compile(r"(?<![\w.$-])/(work/(main|shared|\.library)|root|home/\w+/\.)")


def modules() -> list[Path]:
    return sorted(
        path for package in ("streams", "schemas", "topics") for path in (ROOT / package).rglob("*.py")
    )


def lines_in(path: Path) -> int:
    return len(path.read_text().splitlines())


def texts() -> Iterator[Path]:
    """Yield every text file of the repository that people write."""
    # In a worktree, `.git` is a file that git writes.
    top = (path for path in ROOT.iterdir() if path.name != ".git")
    candidates = [*top, *(path for folder in FOLDERS for path in (ROOT / folder).rglob("*"))]
    for path in candidates:
        if path.is_file() and path.suffix in TEXTS and "__pycache__" not in path.parts:
            yield path


def offenders(pattern: re.Pattern[str]) -> list[str]:
    return [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in texts()
        if path != Path(__file__)  # spells them out
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1)
        if pattern.search(line)
    ]


def test_no_module_holds_two_concepts() -> None:
    assert {str(path): lines for path in modules() if (lines := lines_in(path)) > MOST_LINES} == {}


def test_most_modules_fit_on_two_screens(record_testsuite_property: Callable[[str, object], None]) -> None:
    sizes = [lines for path in modules() if (lines := lines_in(path)) > 1]
    assert len(sizes) > 30
    median = statistics.median(sizes)
    record_testsuite_property("median lines of a module", median)
    assert median <= MEDIAN_LINES


def test_every_module_is_named_after_its_concept() -> None:
    named = modules() + sorted((ROOT / "tests").rglob("*.py"))
    assert [path for path in named if NAMELESS.search(path.stem) or NAMELESS.search(path.parent.name)] == []


@pytest.mark.parametrize(
    "pattern",
    [LEFT_OPEN, BEGINS_WITH_OF, MACHINE_PATH],
    ids=["left open", "begins with of", "machine path"],
)
def test_no_text_has(pattern: re.Pattern[str]) -> None:
    assert offenders(pattern) == []


def test_only_the_screen_writes_to_a_terminal() -> None:
    """Commands write through `streams.cli.text.screen`, which escapes what agents and files wrote."""
    doors = {
        Path("streams/cli/text/screen.py"),
        Path("streams/observe/logs.py"),  # escapes what is logged
        Path("streams/worker/health/liveness.py"),  # ends a stalled worker; no text of others
        Path("streams/operate/supervisor/supervisor.py"),  # passes on what workers have escaped
    }
    past = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in (ROOT / "streams").rglob("*.py")
        if path.relative_to(ROOT) not in doors
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if WRITES.search(line) and not EXAMPLE.match(line)
    ]
    assert past == [], "call echo, echo_lines or echo_json of streams.cli.text.screen instead"


def test_the_patterns_find_what_they_are_for() -> None:
    assert NAMELESS.search("string_utils")
    assert NAMELESS.search("base_detector")
    assert not NAMELESS.search("baseline")
    assert LEFT_OPEN.search("# TODO: later")
    assert BEGINS_WITH_OF.search("lease: Of the worker.")
    assert not BEGINS_WITH_OF.search("# Of 10 records")
    assert MACHINE_PATH.search("open('/work/main/data')")
    assert not MACHINE_PATH.search("docs/work/main")
    assert {"Makefile", "pyproject.toml", Path(__file__).name} <= {path.name for path in texts()}

"""The shape of the code: a concept a module, a name a class, nothing left open, no path of one machine."""

import ast
import re
import tomllib
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ("streams", "schemas", "topics", "tests", "benchmarks", "docs", "deploy", ".ci")
TEXTS = {".py", ".md", ".yaml", ".yml", ".toml", ".sh", ".avsc", ".html", ".js", ".css", ""}
MOST_LINES = 600
#: A module below this that only one module beside it imports belongs into that one.
FEWEST_LINES = 80
FEWEST_WORDS = 4
#: What the house is to come to. The property of the test run says where it is.
AIMS = {"modules": 450, "lines": 62_000, "layers": 8}

SMALL_BESIDE_THEIR_ONLY_IMPORTER = {
    "streams/cli/version.py": "commands are imported when they are called, this one too",
}

#: Importers that list modules of one kind: what only they import is an extension, whatever its size.
REGISTRIES = {"streams.formats.agent_hooks.registry", "streams.formats.registry"}

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


def imported_names(path: Path, known: dict[str, Path]) -> set[str]:
    """Return the modules of the project that a module imports."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        match node:
            case ast.Import():
                names |= {alias.name for alias in node.names}
            case ast.ImportFrom(module=str(module)):
                names |= {
                    inner if (inner := f"{module}.{alias.name}") in known else module for alias in node.names
                }
    return names & known.keys()


def dotted(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def test_no_small_module_is_there_for_one_module_beside_it_alone() -> None:
    known = {dotted(path): path for path in modules()}
    importers = defaultdict(set)
    for name, path in known.items():
        for imported in imported_names(path, known) - {name}:
            importers[imported].add(name)
    small = {
        str(path.relative_to(ROOT))
        for name, path in known.items()
        if path.name != "__init__.py" and lines_in(path) < FEWEST_LINES and len(importers[name]) == 1
        if not importers[name] <= REGISTRIES
        for package in [name.rpartition(".")[0]]
        if next(iter(importers[name]))
        in {package, f"{package}.{next(iter(importers[name])).rpartition('.')[2]}"}
    }
    assert small == SMALL_BESIDE_THEIR_ONLY_IMPORTER.keys()


def test_no_two_public_classes_have_one_name() -> None:
    places = defaultdict(list)
    for path in (ROOT / "streams").rglob("*.py"):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(str(path.relative_to(ROOT)))
    assert len(places) > 300
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def short_entries(docstring: str) -> list[str]:
    """Return the entries below Args and Attributes that say next to nothing."""
    short = []
    for section in re.split(r"\n\s*\n", docstring):
        heading, _, text = section.partition("\n")
        if heading.strip() not in {"Args:", "Attributes:"}:
            continue
        indent = len(text) - len(text.lstrip())
        for entry in re.split(rf"\n(?=\s{{{indent}}}\S)", text):
            words = entry.partition(":")[2].split()
            if len(words) < FEWEST_WORDS:
                short.append(entry.strip())
    return short


def test_each_argument_and_attribute_is_described_in_words() -> None:
    documented = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    found = [
        f"{path.relative_to(ROOT)}: {node.name}: {entry}"
        for path in (ROOT / "streams").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, documented)
        for entry in short_entries(ast.get_docstring(node) or "")
    ]
    assert found == []


def test_no_setting_of_a_process_is_described_by_what_it_is_of() -> None:
    source = (ROOT / "streams" / "observe" / "settings.py").read_text()
    assert re.findall(r"""description="(?:Of|As) [^"]*""", source) == []


def test_the_size_of_the_house_is_reported(record_testsuite_property: Callable[[str, object], None]) -> None:
    own = [path for path in modules() if path.is_relative_to(ROOT / "streams")]
    configuration = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    layers = next(each["layers"] for each in configuration["contracts"] if "shell" in each["name"])
    size = {
        "modules": len(own),
        "lines": sum(map(lines_in, own)),
        "layers": len([layer for layer in layers if layer != "streams.__main__"]),
    }
    for name, aim in AIMS.items():
        record_testsuite_property(f"{name} of streams (aim {aim})", size[name])
    assert size["layers"] <= AIMS["layers"]


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
        Path("streams/operate/supervisor.py"),  # passes on what workers have escaped
        Path("streams/formats/agent_hooks/asking.py"),  # answers a program, in JSON
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
    assert short_entries("Do.\n\nArgs:\n    app: The worker's.\n    at: Its time in ms since 1970.") == [
        "app: The worker's."
    ]
    assert NAMELESS.search("string_utils")
    assert NAMELESS.search("base_detector")
    assert not NAMELESS.search("baseline")
    assert LEFT_OPEN.search("# TODO: later")
    assert BEGINS_WITH_OF.search("lease: Of the worker.")
    assert not BEGINS_WITH_OF.search("# Of 10 records")
    assert MACHINE_PATH.search("open('/work/main/data')")
    assert not MACHINE_PATH.search("docs/work/main")
    assert {"Makefile", "pyproject.toml", Path(__file__).name} <= {path.name for path in texts()}


def test_no_line_of_a_template_is_longer_than_a_screen() -> None:
    templates = (ROOT / "streams" / "console" / "templates").glob("*.j2")
    long = [
        (path.name, len(line))
        for path in templates
        for line in path.read_text().splitlines()
        if len(line) > 200
    ]
    assert long == []

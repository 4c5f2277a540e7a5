"""The map of the code: it names what exists and misses no package, and an epoch has the order it shows."""

import re
from collections.abc import Iterable

import pytest

from streams.worker.crash_point import AT_LEAST_ONCE, EXACTLY_ONCE, CrashPoint
from tests.pages import ROOT, Page
from topics.catalogue import Catalogue

PAGE = Page((ROOT / "docs" / "architecture.md").read_text())
GLOSSARY = (ROOT / "docs" / "glossary.md").read_text()
FEWEST_WORDS_EXPLAINED = 20


def packages() -> set[str]:
    """Return every package below `streams`."""
    return {path.parent.relative_to(ROOT).as_posix() for path in (ROOT / "streams").rglob("*/__init__.py")}


def section(heading: str) -> str:
    """Return what stands below a heading."""
    return PAGE.text.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def drawn() -> list[str]:
    """Return the lines of the drawing that are a step of a record's way."""
    (drawing,) = PAGE.blocks("")
    return [line for line in drawing.splitlines() if re.match(r"\s*\[\d\] ", line)]


def test_the_table_of_packages_has_every_package_once() -> None:
    named = re.findall(r"^\| `(streams/[\w/]+)` \| \S", section("The packages"), re.MULTILINE)
    assert sorted(named) == sorted(packages())


def test_every_path_exists() -> None:
    named = {span for span in PAGE.spans() if re.fullmatch(r"(streams|topics|tests|schemas)(/[\w.]+)+", span)}
    assert len(named) > 40
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []


def test_the_places_in_the_drawing_exist() -> None:
    places = {place for line in drawn() for place in re.split(r"\s{2,}", line.strip())[-1].split(", ")}
    assert len(places) >= 8
    roots = (ROOT / "streams", ROOT)
    assert [place for place in sorted(places) if not any((root / place).exists() for root in roots)] == []


def test_the_topics_in_the_drawing_exist() -> None:
    (drawing,) = PAGE.blocks("")
    topics = {topic.name for topic in Catalogue.load().topics}
    written = {
        word for line in drawing.splitlines() if "──▶" in line for word in re.findall(r"[a-z]+-[a-z-]+", line)
    }
    assert {"decision-logs-enriched", "session-alerts"} <= written
    assert written <= topics


@pytest.mark.parametrize(
    ("code", "points"),
    [("at_least_once.py", AT_LEAST_ONCE), ("exactly_once.py", EXACTLY_ONCE)],
    ids=["at least once", "exactly once"],
)
def test_the_crash_points_are_those_of_an_epoch_in_order(code: str, points: Iterable[CrashPoint]) -> None:
    text = section("The order of an epoch, and its crash points").partition(code)[2]
    table = text[text.index("| step |") :].partition("\n\n")[0]
    assert re.findall(r"^\| [^|]+ \| `(\w+)` \|", table, re.MULTILINE) == [str(point) for point in points]


def test_the_glossary_explains_each_word_once_in_alphabetical_order() -> None:
    words = re.findall(r"^- \*\*([^*]+)\*\*: \S", GLOSSARY, re.MULTILINE)
    assert len(words) >= FEWEST_WORDS_EXPLAINED
    assert words == sorted(set(words), key=str.lower)
    assert "glossary.md" in PAGE.text

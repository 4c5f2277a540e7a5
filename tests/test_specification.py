"""Every citation of the specification leads to a section, and what it says of settings and vectors is so."""

import json
import re
import subprocess
from pathlib import Path

import pytest

from streams.core.detectors.settings import DEFAULTS
from streams.core.domain.event_kind import ALERT_FAMILIES, TOPIC_OF
from streams.core.settings_document import ORDERED_GROUPS, RANGES, to_document

ROOT = Path(__file__).parents[1]
SPECIFICATION = ROOT / "docs" / "specification.md"
TEXT = SPECIFICATION.read_text()
SECTIONS = {
    number: title for title, number in re.findall(r"(?m)^#{2,3} ((\d+(?:\.\d+[a-z]?)?)\.? .*)$", TEXT)
}
#: A line of a comment may end after the first word.
CITATION = re.compile(
    r"\bspecification(?:\s+#)?\s+(\d+(?:\.\d+[a-z]?)?(?:(?:,| and| to)\s+\d+\.\d+[a-z]?)*)", re.IGNORECASE
)
LINK = re.compile(r"\[specification ([\d.]+[a-z]?)\]\(([^)#]+)#([^)]+)\)")
ANCHOR = re.compile(r"\]\([^)\s]*specification\.md#([^)]+)\)")
#: Other names for the specification, and for the documents that its part 8 answers.
OTHER_NAME = re.compile(r"S[E]MANTICS|\b[Ss]eeds? 00\d")
#: A reference within the specification, such as (2.5) or (housekeeping, 2.5).
REFERENCE = re.compile(r"\((?:[a-z ]+[,:] )?(\d+\.\d[a-z]?)\)")
VECTORS = ROOT / "tests" / "conformance" / "vectors"
TYPES = {"int": int, "number": float, "bool": bool, "text": str, "list": list, "map": dict}
#: What the range of a setting says of one that follows it, or of all of its row.
ORDERS = {
    "<= warning": ("entropy_loop_threshold", "entropy_warning_threshold"),
    "<= saturation": ("pattern_clear", "pattern_saturation"),
}


def texts() -> list[Path]:
    """Return the text files of the repository, the specification left out."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    kinds = {".py", ".md", ".yaml", ".yml", ".toml", ".avsc"}
    paths = [ROOT / name for name in listed.stdout.splitlines()]
    return [path for path in paths if path.suffix in kinds and path.is_file() and path != SPECIFICATION]


def slug(title: str) -> str:
    """Return the anchor that a heading has in rendered Markdown."""
    return re.sub(r"[^\w\- ]", "", title.strip().lower()).replace(" ", "-")


def cited() -> dict[str, set[str]]:
    """Return the cited sections, and where each is cited."""
    found: dict[str, set[str]] = {}
    for path in texts():
        for numbers in CITATION.findall(path.read_text()):
            for number in re.findall(r"\d+(?:\.\d+[a-z]?)?", numbers):
                found.setdefault(number, set()).add(str(path.relative_to(ROOT)))
    return found


def test_every_cited_section_exists() -> None:
    found = cited()
    assert sum(map(len, found.values())) > 100
    assert {number: places for number, places in found.items() if number not in SECTIONS} == {}


def test_every_link_leads_to_the_section_that_it_names() -> None:
    links = [
        (path, *link) for path in texts() if path.suffix == ".md" for link in LINK.findall(path.read_text())
    ]
    assert links
    for path, number, target, anchor in links:
        assert (path.parent / target).resolve() == SPECIFICATION, f"{path}: {target}"
        assert anchor == slug(SECTIONS[number]), f"{path}: {number}"


def test_every_other_link_into_the_specification_leads_to_a_heading() -> None:
    headings = {slug(title) for title in SECTIONS.values()}
    anchors = {
        anchor for path in texts() if path.suffix == ".md" for anchor in ANCHOR.findall(path.read_text())
    }
    assert anchors
    assert anchors - headings == set()


def test_the_specification_refers_to_sections_that_exist() -> None:
    found = set(REFERENCE.findall(TEXT))
    assert len(found) > 10
    assert found - SECTIONS.keys() == set()


def test_nothing_cites_the_specification_by_another_name() -> None:
    others = {
        f"{path.relative_to(ROOT)}: {name}"
        for path in (*texts(), SPECIFICATION)
        for name in OTHER_NAME.findall(path.read_text())
    }
    assert others == set()


def test_a_document_cites_by_a_link() -> None:
    bare = {
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in texts()
        if path.suffix == ".md"
        for match in CITATION.finditer(LINK.sub("", path.read_text()))
    }
    assert bare == set()


def rows(section: str) -> list[list[str]]:
    """Return the cells of the tables of a section."""
    body = re.split(r"(?m)^#{2,3} ", TEXT.split(f"# {SECTIONS[section]}\n")[1])[0]
    return [
        [cell.strip() for cell in line.strip()[1:-1].split("|")]
        for line in body.splitlines()
        if line.startswith("| ")
    ]


def names_of(written: str) -> list[str]:
    """Return the settings of a row of 4.1; it writes those with one ending short."""
    return re.sub(r"(\w+_)(?=,)(?=.*_threshold$)", r"\1threshold", written).split(", ")


def settings() -> list[tuple[str, str, str]]:
    """Return name, default and range of each setting in the table of 4.1."""
    found = []
    for written, _, default, allowed, _ in rows("4.1")[1:]:
        several = names_of(written)
        defaults = default.split(", ") if len(several) > 1 else [default]
        ranges = allowed.split(", ") if several[0] == "emergency_steps" else [allowed] * len(several)
        found += list(zip(several, defaults, ranges, strict=True))
    return found


def test_the_table_names_every_setting_and_no_other() -> None:
    assert sorted(name for name, _, _ in settings()) == sorted(RANGES)


@pytest.mark.parametrize(("name", "default", "allowed"), settings(), ids=[name for name, _, _ in settings()])
def test_a_setting_has_the_default_and_the_range_of_the_table(name: str, default: str, allowed: str) -> None:
    in_force = to_document(DEFAULTS)[name]
    match in_force:
        case bool():
            assert default == str(in_force).lower()
        case int() | float():
            assert float(default) == in_force
        case str():
            assert default == in_force
        case list():
            named = {"all four": "success, failure, pending, skipped", "[]": ""}.get(default, default)
            assert [item for item in named.split(", ") if item] == in_force
        case dict():
            pairs = [pair.rsplit(" ", 1) for pair in default.split(", ")] if default != "{}" else []
            assert {key: float(value) for key, value in pairs} == in_force
    span = re.match(r"([\[(]?)(\d+(?:\.\d+)?)(?:\.\.|, )([\d^]+(?:\.\d+)?)", allowed)
    if isinstance(in_force, int | float) and not isinstance(in_force, bool):
        assert span is not None, allowed
        low, high = float(span[2]), float(span[3].replace("10^", "1e"))
        kind = type(in_force)
        read = RANGES[name].read
        assert (read(kind(low)) is None) == (span[1] == "(")
        assert read(kind(high)) is not None
        assert read(kind(low) - 1) is None
        assert read(kind(high) + 1) is None


def test_the_table_gives_each_setting_the_type_and_the_words_of_the_code() -> None:
    document = to_document(DEFAULTS)
    for written, kind, _, allowed, _ in rows("4.1")[1:]:
        for name in names_of(written):
            assert type(document[name]) is TYPES[kind.split()[0]], name
            if kind == "text":
                assert RANGES[name].wanted == f"one of {allowed}", name


def test_the_table_gives_the_orders_that_the_code_keeps() -> None:
    found = {
        (tuple(names_of(written)) if order in ("warn <= loop", "strictly rising") else ORDERS[order])
        for written, _, _, allowed, _ in rows("4.1")[1:]
        if not written.startswith("tool_policies")
        for order in re.findall(r"(?:warn )?<= \w+|strictly rising", allowed)
    }
    assert found == {group.names for group in ORDERED_GROUPS}


def test_every_kind_of_event_has_its_topic() -> None:
    kinds = rows("7.1")[1:]
    assert {kind: topic.strip("`") for kind, topic, *_ in kinds} == TOPIC_OF
    assert len(ALERT_FAMILIES) == 5, "`alert_families` names which of the first five are published"
    assert [kind for kind, *_ in kinds][:5] == list(ALERT_FAMILIES)


def test_the_requirements_name_vectors_that_exist() -> None:
    names = {
        vector["name"]
        for path in VECTORS.glob("*.json")
        for vector in json.loads(path.read_text())["vectors"]
    }
    fields = TEXT[TEXT.index("## 4. ") : TEXT.index("## 8. ")]
    missing = [
        (section, word)
        for section, columns in {"8.1": 2, "8.2": 1, "8.3": 1, "8.4": 1}.items()
        for row in rows(section)[1:]
        for word in re.findall(r"\b[a-z0-9]+(?:_[a-zA-Z0-9]+)+\b", " ".join(row[-columns:]))
        if word not in fields and not any(name == word or name.endswith(f"_{word}") for name in names)
    ]
    assert missing == []


def test_the_counts_of_vectors_are_those_of_the_files() -> None:
    counts = {
        stem: int(count)
        for names, numbers in rows("10")[-5:]
        for stem, count in zip(re.sub(r" \(.*", "", names).split(", "), numbers.split(", "), strict=True)
    }
    found = {path.stem: len(json.loads(path.read_text())["vectors"]) for path in VECTORS.glob("*.json")}
    assert counts == found

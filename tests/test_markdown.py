"""GitHub and the site read Markdown by different rules: a document has to be the same for both."""

import re
from collections import Counter
from pathlib import Path

import pytest
import yaml
from markdown import markdown
from markdown_it import MarkdownIt

from tests.pages import ROOT

PAGES = [
    *sorted((ROOT / "docs").rglob("*.md")),
    *(ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "SECURITY", "CHANGELOG")),
    *(ROOT / f"{project}/README.md" for project in ("client", "schemas")),
]
#: As `mkdocs.yml` has them.
EXTENSIONS = ["fenced_code", "sane_lists", "tables", "toc"]
ELEMENT = re.compile(r"<(h[1-6]|[ou]l|li|table|t[dh]|pre|code|blockquote|em|strong|a|img|hr)\b")


def elements(html: str) -> Counter[str]:
    return Counter(ELEMENT.findall(html))


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_page_has_the_same_parts_for_every_reader(path: Path) -> None:
    """If it fails: a list in a list needs four spaces, and what follows a paragraph in one an empty line."""
    text = path.read_text()
    github = MarkdownIt("commonmark").enable("table").render(text)
    assert elements(markdown(text, extensions=EXTENSIONS)) == elements(github)


def test_the_site_reads_with_these_extensions() -> None:
    configured = yaml.safe_load((ROOT / "mkdocs.yml").read_text())["markdown_extensions"]
    assert [next(iter(one)) if isinstance(one, dict) else one for one in configured] == EXTENSIONS

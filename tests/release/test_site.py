"""The site of the documents: complete, whole in itself, and refused if a link is broken."""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.pages import ROOT
from tests.release.conftest import run

pytestmark = [pytest.mark.release, pytest.mark.timeout(300)]

LINKED = re.compile(r'href="([^"#:]+\.html)"')


def build(checkout: Path) -> subprocess.CompletedProcess[str]:
    """Build the site as `make docs` does."""
    (recipe,) = re.findall(r"\bmkdocs (build .*?)  #", (ROOT / "Makefile").read_text())
    return subprocess.run(
        [sys.executable, "-m", "mkdocs", *recipe.split()],
        cwd=checkout,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def own_checkout(checkout: Path) -> Iterator[Path]:
    """Yield the checkout, whose documents a test may change."""
    yield checkout
    run("git", "checkout", "--", "docs", cwd=checkout)
    shutil.rmtree(checkout / "site")


def test_every_page_is_reached_from_the_first(own_checkout: Path) -> None:
    built = build(own_checkout)
    assert built.returncode == 0, built.stderr
    site = own_checkout / "site"
    reached, waiting = {site / "index.html"}, [site / "index.html"]
    while waiting:
        page = waiting.pop()
        found = {(page.parent / link).resolve() for link in LINKED.findall(page.read_text())}
        waiting += found - reached
        reached |= found
    assert reached >= set(site.rglob("*.html")) - {site / "404.html"}
    assert len(reached) >= len(list((ROOT / "docs").rglob("*.md")))
    assert run("git", "status", "--porcelain", cwd=own_checkout) == ""


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("[nowhere](nowhere.md)", "nowhere.md"),
        ("[nothing](limits.md#nothing)", "no such anchor"),
        ("[outside](../schemas/nowhere.md)", "nowhere.md"),
        ('<img src="https://example.org/a.png">', "fetches something from elsewhere"),
    ],
    ids=["no page", "no heading", "nothing outside of docs", "a picture of another server"],
)
def test_a_page_that_would_disappoint_is_refused(own_checkout: Path, line: str, said: str) -> None:
    with (own_checkout / "docs" / "limits.md").open("a") as page:
        page.write(f"\n{line}\n")
    built = build(own_checkout)
    assert built.returncode != 0
    assert said in built.stderr

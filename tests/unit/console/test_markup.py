"""What agents wrote reaches a page as text only: no template and no script goes around the escaping."""

import re
from pathlib import Path

import pytest

CONSOLE = Path(__file__).parents[3] / "streams" / "console"
#: Others' code, as it was published.
VENDORED = CONSOLE / "static" / "vendor"

FILES = sorted(
    path
    for path in CONSOLE.rglob("*")
    if path.suffix in {".py", ".j2", ".html", ".js", ".css", ".svg"} and not path.is_relative_to(VENDORED)
)
#: What turns text into elements, and where it may.
UNESCAPED = {
    re.compile(r"\|\s*safe\b"): set(),
    re.compile(r"\bMarkup\("): set(),
    re.compile(r"\bmarkupsafe\b"): set(),
    re.compile(r"autoescape\s*(=\s*)?(False|false)"): set(),
    re.compile(r"\b(inner|outer)HTML\b|insertAdjacentHTML|document\.write"): {"static/live.js"},
    re.compile(r"parseFromString|createContextualFragment|setHTMLUnsafe|\bcreatePolicy\("): {
        "static/live.js",
        "static/trusted.js",
    },
    re.compile(r"\beval\(|new Function\("): set(),
}
#: What the policy of the pages forbids, so that it would fail in a browser only.
INLINE = {
    "an inline script": re.compile(r"<script(?![^>]*\bsrc=)", re.IGNORECASE),
    "an inline handler": re.compile(r"<[^>]*\son[a-z]+\s*=", re.IGNORECASE),
    "an inline style": re.compile(r"<style\b|<[^>]*\sstyle\s*=", re.IGNORECASE),
    "a script as a link": re.compile(r"javascript:", re.IGNORECASE),
    "another server": re.compile(r"""(src|href)\s*=\s*["'](https?:)?//""", re.IGNORECASE),
}


def found(pattern: re.Pattern[str], path: Path) -> list[str]:
    name = path.relative_to(CONSOLE).as_posix()
    return [f"{name}: {found[0]}" for found in pattern.finditer(path.read_text())]


@pytest.mark.parametrize("pattern", UNESCAPED, ids=lambda pattern: pattern.pattern)
def test_nothing_goes_around_the_escaping(pattern: re.Pattern[str]) -> None:
    allowed = UNESCAPED[pattern]
    others = [path for path in FILES if path.relative_to(CONSOLE).as_posix() not in allowed]
    assert [place for path in others for place in found(pattern, path)] == []


@pytest.mark.parametrize("what", INLINE)
def test_no_template_has(what: str) -> None:
    templates = [path for path in FILES if path.suffix in {".j2", ".html"}]
    assert [place for path in templates for place in found(INLINE[what], path)] == []


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"\|\s*safe\b", "{{ goal | safe }}"),
        (r"\bMarkup\(", "Markup(goal)"),
        (r"\b(inner|outer)HTML\b|insertAdjacentHTML|document\.write", "row.innerHTML = text"),
    ],
)
def test_the_patterns_find_what_they_are_for(pattern: str, text: str) -> None:
    assert pattern in {each.pattern for each in UNESCAPED}
    assert re.search(pattern, text)


@pytest.mark.parametrize(
    ("what", "text"),
    [
        ("an inline script", "<script>go()</script>"),
        ("an inline handler", '<b class="x" onclick = "go()">'),
        ("an inline style", '<b style="color: red">'),
        ("another server", '<script src="//cdn.example/x.js">'),
    ],
)
def test_the_patterns_find_what_is_inline(what: str, text: str) -> None:
    assert INLINE[what].search(text)
    assert not INLINE[what].search(
        '<script type="module" src="{{ asset(\'x.js\') }}"></script><a href="/styles">'
    )

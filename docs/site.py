"""The documents as a site, by `make docs`: what MkDocs cannot know. It calls what begins with `on_`.

The pages are written for readers of the repository. So the navigation is that of `docs/README.md`, pages
outside of `docs/` become pages of the site, and every link is made one between these. A link to a file that
is no page, such as a test, stays as its text.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any, Final

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT: Final = Path(__file__).parents[1]
INDEX: Final = "docs/README.md"
#: Pages that have another place on the site, by where they are in the repository.
MOVED: Final = {
    "README.md": "index.md",
    INDEX: "documents.md",
    "CHANGELOG.md": "project/changelog.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/security.md",
    "client/README.md": "project/client.md",
    "schemas/README.md": "project/schemas.md",
}
_FENCED = re.compile(r"^(```.*?^```)$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\((?!\w+:|#)([^()\s#]+)(#[^()\s]*)?\)")
_ENTRY = re.compile(r"^(?:(##+) (.+)|- \[([^\]]+)\]\(([^)#]+\.md)\).*)$", re.MULTILINE)
_FROM_ELSEWHERE = re.compile(r"<(?:script|link|img|iframe)\b[^>]*\b(?:src|href)=[\"']?(?:https?:)?//[^>]*>")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Take the navigation from the index: a tab for each kind of reader."""
    eddy = ["index.md", {"All documents": "documents.md"}, {"Changelog": MOVED["CHANGELOG.md"]}]
    config.nav = [
        {"Eddy": [*eddy, {"Security": MOVED["SECURITY.md"]}]},
        *navigation((ROOT / INDEX).read_text()),
    ]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are kept elsewhere."""
    for kept, shown in MOVED.items():
        if (there := files.get_file_from_path(posixpath.relpath(kept, "docs"))) is not None:
            files.remove(there)
        files.append(File.generated(config, shown, abs_src_path=str(ROOT / kept)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Make the links of a page those between pages of the site."""
    shown = page.file.src_uri
    return linked(markdown, {place: kept for kept, place in MOVED.items()}.get(shown, f"docs/{shown}"), shown)


def on_post_build(config: MkDocsConfig) -> None:
    """Refuse a site whose pages fetch something from elsewhere.

    Raises:
        PluginError: one does.
    """
    for page in Path(config.site_dir).rglob("*.html"):
        if found := _FROM_ELSEWHERE.search(page.read_text()):
            raise PluginError(f"{page} fetches something from elsewhere: {found[0]}")


def navigation(index: str) -> list[dict[str, Any]]:
    """Return the navigation that an index has: its headings, and below each the pages in its list."""
    tabs: list[dict[str, Any]] = []
    below: list[dict[str, Any]] = tabs
    for heading, name, title, target in _ENTRY.findall(index):
        if heading:
            parent = tabs if heading == "##" else next(iter(tabs[-1].values()))
            below = []
            parent.append({name: below})
        else:
            below.append({title: _place(posixpath.normpath(f"docs/{target}"))})
    return tabs


def linked(markdown: str, kept: str, shown: str) -> str:
    """Return a page whose links lead from its place on the site to theirs.

    Args:
        markdown: The page.
        kept: Where it is in the repository.
        shown: Where it is on the site.
    """
    parts = _FENCED.split(markdown)
    parts[::2] = [_LINK.sub(lambda link: _link(link, kept, shown), part) for part in parts[::2]]
    return "".join(parts)


def _link(link: re.Match[str], kept: str, shown: str) -> str:
    image, text, target, anchor = link.groups(default="")
    there = posixpath.normpath(posixpath.join(posixpath.dirname(kept), target))
    if there not in MOVED and not there.startswith("docs/") and (ROOT / there).exists():
        return text
    return f"{image}[{text}]({posixpath.relpath(_place(there), posixpath.dirname(shown) or '.')}{anchor})"


def _place(kept: str) -> str:
    """Where a file of the repository is on the site."""
    return MOVED.get(kept, kept.removeprefix("docs/"))

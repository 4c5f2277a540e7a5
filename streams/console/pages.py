"""Pages from templates, and the files that a browser loads. Everything that agents wrote is escaped."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from streams.console import wording

FOLDER: Final = Path(__file__).parent / "static"

_TYPES: Final = {
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
    ".txt": "text/plain",
}


class Asset(NamedTuple):
    """A file and how it is sent."""

    content: bytes
    content_type: str


class Assets:
    """All static files, read once. One hash stands for all of them, so that scripts find one another.

    Args:
        folder: Folder that the files are in.
    """

    def __init__(self, folder: Path = FOLDER) -> None:
        self._folder = folder

    @cached_property
    def files(self) -> Mapping[str, Asset]:
        """Each file by its path below the folder."""
        found = sorted(path for path in self._folder.rglob("*") if path.suffix in _TYPES)
        return {
            path.relative_to(self._folder).as_posix(): Asset(path.read_bytes(), _TYPES[path.suffix])
            for path in found
        }

    @cached_property
    def build(self) -> str:
        """What tells this content from another."""
        digest = hashlib.sha256()
        for name, asset in self.files.items():
            digest.update(f"{name}\0{len(asset.content)}\0".encode())
            digest.update(asset.content)
        return digest.hexdigest()[:12]

    def path(self, name: str) -> str:
        """Return the path of a file on the server.

        Raises:
            KeyError: there is no such file.
        """
        self.files[name]
        return f"/static/{self.build}/{name}"


_TEMPLATES: Final = Path(__file__).parent / "templates"


class Pages:
    """Renders templates.

    Args:
        base_path: In front of every link.
        currency: In front of costs.
        assets: Static files that pages refer to.
    """

    def __init__(self, base_path: str, currency: str, assets: Assets) -> None:
        self.assets = assets
        self._base_path = base_path
        environment = Environment(
            loader=FileSystemLoader(_TEMPLATES),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            extensions=["jinja2.ext.do"],
        )
        environment.filters |= {
            "number": wording.number,
            "compact": wording.compact,
            "money": partial(wording.money, currency=currency),
            "duration": wording.duration,
            "clock": wording.clock,
            "moment": wording.moment,
            "iso": wording.iso,
            "line": wording.line,
            "row_key": wording.row_key,
            "block": wording.block,
        }
        environment.globals |= {
            "url": self.url,
            "asset": self.asset,
            "ago": wording.ago,
            "ahead": wording.ahead,
            "when": wording.when,
        }
        self._environment = environment

    def url(self, path: str, **query: object) -> str:
        """Return a link within the console; parameters that are None or empty are left out."""
        given = [(name.rstrip("_"), str(value)) for name, value in query.items() if value not in (None, "")]
        return f"{self._base_path}{path}" + (f"?{urlencode(given, errors='surrogatepass')}" if given else "")

    def asset(self, name: str) -> str:
        """Return the link to a static file."""
        return self._base_path + self.assets.path(name)

    def render(self, template: str, content: Mapping[str, Any]) -> str:
        """Return what a template makes of some content."""
        return self._environment.get_template(template).render(content)

    def fragment(self, template: str, macro: str, *arguments: object) -> str:
        """Return what a macro of a template makes of its arguments: a part of a page."""
        module = self._environment.get_template(template).module
        return str(getattr(module, macro)(*arguments)).strip()

"""Pages from templates. Everything that agents wrote is escaped."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from streams.console import wording
from streams.console.assets import Assets

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

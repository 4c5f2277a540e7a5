"""The licences of what others have written and the console sends to browsers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import orjson
from aiohttp import web

from streams.console.console import Console
from streams.console.pages import FOLDER, Assets

_LOCK: Final = FOLDER / "vendor" / "vendor.lock"


def routes(console: Console) -> Sequence[web.RouteDef]:
    """Return the route of the page."""
    content = {"packages": packages(orjson.loads(_LOCK.read_bytes()), console.pages.assets)}

    async def show(request: web.Request) -> web.Response:
        return console.answer(request, "licenses.html.j2", "licenses", content)

    return [web.get("/licenses", show)]


def packages(lock: Mapping[str, Any], assets: Assets) -> list[dict[str, Any]]:
    """Return each package with its files and the text of its licence.

    Args:
        lock: The names of the packages, with what was fetched of each.
        assets: Static files, with the licence texts.
    """
    found = []
    for name, package in lock.items():
        texts = [file for file, kept in package["files"].items() if "LICENSE" in kept["path"]]
        found.append(
            {
                "name": name,
                "version": package["version"],
                "licence": package["licence"],
                "files": [file for file in package["files"] if file not in texts],
                "terms": "\n".join(assets.files[f"vendor/{file}"].content.decode() for file in texts),
            }
        )
    return found

"""The page of licences: every package that browsers load is there, with the text that it came with."""

from pathlib import Path
from typing import Any

from streams.console.pages import FOLDER
from tests import vendored
from tests.unit.console.following import following

VENDOR = FOLDER / "vendor"


async def test_each_package_stands_with_its_version_and_its_licence(tmp_path: Path) -> None:
    async with following(tmp_path, (), 0, viewer=True) as reader:
        found: Any = await reader.json("/licenses")
        page = await reader.page("/licenses")
    shown = {each["name"]: (each["version"], each["licence"]) for each in found["packages"]}
    locked = vendored.packages(VENDOR)
    assert shown == {name: (package["version"], package["licence"]) for name, package in locked.items()}
    for terms in VENDOR.glob("*.LICENSE.txt"):
        text = terms.read_text()
        assert any(text in each["terms"] for each in found["packages"])
        assert text.strip().splitlines()[-1] in page.replace("&#34;", '"').replace("&#39;", "'")


async def test_every_page_leads_there(tmp_path: Path) -> None:
    async with following(tmp_path, (), 0) as reader:
        assert 'href="/licenses"' in await reader.page("/alerts")

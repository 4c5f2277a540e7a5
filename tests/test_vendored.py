"""What others have written and browsers load is what they published, and its licence is beside it."""

import shutil
from pathlib import Path

import pytest

from tests import vendored

FREE = {"0BSD", "MIT", "MPL-2.0"}
folders = pytest.mark.parametrize("folder", vendored.FOLDERS, ids=lambda folder: folder.parents[1].name)


@folders
def test_the_files_are_those_of_the_lock(folder: Path) -> None:
    assert vendored.differences(folder) == []


@folders
def test_each_package_is_pinned_and_brings_its_licence(folder: Path) -> None:
    for package in vendored.packages(folder).values():
        assert package["integrity"].startswith("sha512-")
        assert package["licence"] in FREE
        assert any("LICENSE" in kept["path"] for kept in package["files"].values())


def test_a_changed_a_missing_and_an_added_file_are_told(tmp_path: Path) -> None:
    folder = tmp_path / "vendor"
    shutil.copytree(vendored.FOLDERS[0], folder)
    (folder / "uPlot.min.css").write_text("body {}")
    (folder / "idiomorph.min.js").unlink()
    (folder / "other.js").touch()
    assert vendored.differences(folder) == [
        "idiomorph.min.js is not there",
        "other.js is in no package of the lock",
        "uPlot.min.css has another content",
    ]


def test_the_digest_is_written_as_npm_writes_it() -> None:
    assert vendored.integrity(b"").startswith(
        "sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg=="
    )

"""An archive is unpacked into its folder, and nowhere else, also where Python has no filter."""

import io
import tarfile
from pathlib import Path

import pytest

from tests.archives import unpack


@pytest.fixture(params=["with a filter", "without one"], autouse=True)
def python(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run each test on this Python, and as on Python 3.11.3 and before."""
    if request.param == "without one":
        monkeypatch.delattr(tarfile, "data_filter", raising=False)


def archive(*members: tarfile.TarInfo) -> tarfile.TarFile:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as files:
        for member in members:
            member.size = 4 if member.isfile() else 0
            files.addfile(member, io.BytesIO(b"text"))
    packed.seek(0)
    return tarfile.open(fileobj=packed)


def link(name: str, target: str) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = tarfile.SYMTYPE, target
    return member


@pytest.mark.filterwarnings("ignore:Python 3.14 will")  # what Python 3.12 says of a call without a filter
def test_files_are_unpacked(tmp_path: Path) -> None:
    with archive(tarfile.TarInfo("a/b.txt"), tarfile.TarInfo("c.txt")) as files:
        unpack(files, tmp_path)
    assert (tmp_path / "a" / "b.txt").read_text() == (tmp_path / "c.txt").read_text() == "text"


@pytest.mark.parametrize(
    "member", [tarfile.TarInfo("../out.txt"), link("l", "../out.txt")], ids=["name", "link"]
)
def test_nothing_arrives_outside_the_folder(tmp_path: Path, member: tarfile.TarInfo) -> None:
    folder = tmp_path / "in"
    with archive(member) as files, pytest.raises(tarfile.TarError):
        unpack(files, folder)
    assert not (tmp_path / "out.txt").exists()
    assert not (folder / "l").exists()

"""The disk that can be filled, where one can be mounted."""

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.disk import SmallDisk


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    """Yield a disk of one MiB."""
    try:
        made = SmallDisk(tmp_path / "small", size=1 << 20)
    except PermissionError as error:
        pytest.skip(str(error))
    yield made
    made.close()
    assert not os.path.ismount(made.path)


def test_a_full_disk_takes_nothing_until_it_is_emptied(disk: SmallDisk) -> None:
    (disk.path / "kept").write_text("state")
    disk.fill()
    assert disk.free == 0
    with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
        (disk.path / "more").write_bytes(bytes(1 << 12))
    disk.empty()
    assert disk.free > 0
    assert (disk.path / "kept").read_text() == "state"


def test_who_may_not_mount_is_told_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refusing = tmp_path / "bin" / "mount"
    refusing.parent.mkdir()
    refusing.write_text("#!/bin/sh\necho 'mount: only root can do that' >&2\nexit 32\n")
    refusing.chmod(0o700)
    monkeypatch.setenv("PATH", f"{refusing.parent}:{os.environ['PATH']}")
    with pytest.raises(PermissionError, match="only root can do that"):
        SmallDisk(tmp_path / "small", size=1 << 20)

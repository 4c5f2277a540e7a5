"""A disk that is small enough to be filled."""

from __future__ import annotations

import errno
import os
import subprocess
from pathlib import Path

# The shell unmounts when its standard input ends, and so whatever ends this process.
_GUARD = """
mount -t tmpfs -o "size=$1" eddy-faults "$2" && echo mounted && cat >/dev/null
cd / && umount -l "$2"
"""
_BALLAST = "ballast"
_PIECE = bytes(1 << 16)


class SmallDisk:
    """A file system of its own in memory. Needs the right to mount.

    Args:
        path: Where; made when it does not exist.
        size: Bytes.

    Raises:
        PermissionError: this process may not mount; the message says what mount said.
    """

    def __init__(self, path: Path, *, size: int) -> None:
        path.mkdir(parents=True, exist_ok=True)
        self.path = path
        self._guard = subprocess.Popen(
            ["/bin/sh", "-c", _GUARD, "guard", str(size), str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        assert self._guard.stdout is not None
        if (said := self._guard.stdout.readline()) != "mounted\n":
            self.close()
            raise PermissionError(f"no file system can be mounted here: {said.strip()}")

    def fill(self) -> None:
        """Leave not one free byte."""
        with (self.path / _BALLAST).open("ab", buffering=0) as ballast:
            try:
                while True:
                    ballast.write(_PIECE)
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise

    def empty(self) -> None:
        """Take out what `fill` put in."""
        (self.path / _BALLAST).unlink(missing_ok=True)

    @property
    def free(self) -> int:
        """Free bytes."""
        found = os.statvfs(self.path)
        return found.f_bavail * found.f_frsize

    def close(self) -> None:
        """Unmount it."""
        self._guard.communicate()

"""Unpack an archive of tar, also on the Python of Debian 12."""

import tarfile
from pathlib import Path


def unpack(archive: tarfile.TarFile, folder: Path) -> None:
    """Unpack what is meant to be data: nothing arrives outside the folder.

    Python has a filter for that since 3.11.4. Before, files and folders alone are unpacked, and no link.

    Raises:
        tarfile.TarError: The archive holds something else.
    """
    if hasattr(tarfile, "data_filter"):
        archive.extractall(folder, filter="data")
        return
    inside = folder.resolve()
    for member in archive:
        if not (member.isfile() or member.isdir()):
            raise tarfile.ExtractError(f"{member.name!r} is neither a file nor a folder")
        if not (inside / member.name).resolve().is_relative_to(inside):
            raise tarfile.ExtractError(f"{member.name!r} would be written outside {inside}")
    archive.extractall(folder)  # each member was looked at above

"""What happens to the files of a database: each does its damage and says what it did."""

import shutil
from collections.abc import Callable
from pathlib import Path


def forget_current(path: Path) -> str:
    """Remove CURRENT."""
    (path / "CURRENT").unlink()
    return "CURRENT removed"


def empty_current(path: Path) -> str:
    """Leave nothing of CURRENT."""
    (path / "CURRENT").write_bytes(b"")
    return "CURRENT emptied"


def cut_manifest(path: Path) -> str:
    """Cut the MANIFEST in the middle of its first record."""
    manifest = max(path.glob("MANIFEST-*"))
    manifest.write_bytes(manifest.read_bytes()[:20])
    return f"{manifest.name} cut"


def halve_manifest(path: Path) -> str:
    """Cut the MANIFEST somewhere."""
    manifest = max(path.glob("MANIFEST-*"))
    content = manifest.read_bytes()
    manifest.write_bytes(content[: len(content) // 2])
    return f"{manifest.name} halved"


def forget_manifest(path: Path) -> str:
    """Remove the MANIFEST."""
    manifest = max(path.glob("MANIFEST-*"))
    manifest.unlink()
    return f"{manifest.name} removed"


def halve_logs(path: Path) -> str:
    """Cut the write-ahead logs in the middle."""
    logs = sorted(path.glob("*.log"))
    for log in logs:
        content = log.read_bytes()
        log.write_bytes(content[: len(content) // 2])
    return f"{len(logs)} write-ahead logs halved"


def forget_logs(path: Path) -> str:
    """Remove the write-ahead logs."""
    logs = sorted(path.glob("*.log"))
    for log in logs:
        log.unlink()
    return f"{len(logs)} write-ahead logs removed"


def overwrite_tables(path: Path) -> str:
    """Overwrite the values in the SST files."""
    tables = sorted(path.glob("*.sst"))
    for table in tables:
        size = table.stat().st_size
        with table.open("r+b") as content:
            content.write(b"\xff" * (size // 2))
    return f"{len(tables)} SST files overwritten"


def forget_tables(path: Path) -> str:
    """Remove the SST files."""
    tables = sorted(path.glob("*.sst"))
    for table in tables:
        table.unlink()
    return f"{len(tables)} SST files removed"


def put_a_file_in_its_place(path: Path) -> str:
    """Replace the directory by a file."""
    shutil.rmtree(path)
    path.write_text("no database")
    return "a file in its place"


#: Damage to a database that is not open.
DAMAGES: tuple[Callable[[Path], str], ...] = (
    forget_current,
    empty_current,
    cut_manifest,
    halve_manifest,
    forget_manifest,
    halve_logs,
    forget_logs,
    overwrite_tables,
    forget_tables,
    put_a_file_in_its_place,
)

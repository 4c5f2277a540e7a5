"""Which Python of Debian `make test-debian` can use."""

import sys
from pathlib import Path

import pytest

from tests.debian_python import usable


def test_a_python_that_makes_environments_is_usable() -> None:
    assert usable(Path(sys.executable))


@pytest.mark.parametrize("text", [None, "exit 1"], ids=["missing", "old, or without python3-venv"])
def test_any_other_is_not(tmp_path: Path, text: str | None) -> None:
    python = tmp_path / "python3"
    if text is not None:
        python.write_text(f"#!/bin/sh\n{text}\n")
        python.chmod(0o755)
    assert not usable(python)

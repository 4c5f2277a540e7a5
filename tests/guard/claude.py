"""How the CLI of Claude Code runs in tests: in a home of its own, with a model on the loopback alone."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


def without_claude(monkeypatch: pytest.MonkeyPatch, *, home: Path, model: str) -> dict[str, str]:
    """Remove what the environment says to a CLI, and return what the CLI needs instead."""
    for name in list(os.environ):
        if name.startswith(("ANTHROPIC", "CLAUDE")):
            monkeypatch.delenv(name)
    return {
        "HOME": str(home),
        "ANTHROPIC_BASE_URL": model,
        "ANTHROPIC_API_KEY": "none",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "ENABLE_TOOL_SEARCH": "false",
    }

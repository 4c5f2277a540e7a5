"""The programs whose hooks Eddy answers."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from streams.formats.agent_hooks import claude_code, codex, copilot_cli, cursor, gemini_cli, opencode
from streams.formats.agent_hooks.program import HookProgram

PROGRAMS: Final[Mapping[str, HookProgram]] = MappingProxyType(
    {
        each.name: each
        for each in (
            claude_code.PROGRAM,
            codex.PROGRAM,
            gemini_cli.PROGRAM,
            opencode.PROGRAM,
            copilot_cli.PROGRAM,
            cursor.PROGRAM,
        )
    }
)

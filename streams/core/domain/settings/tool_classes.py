"""The patterns that class a tool by its name (specification 3.5)."""

from __future__ import annotations

from dataclasses import dataclass

from streams.core.domain.settings.setting import globs, setting


@dataclass(frozen=True, kw_only=True)
class ToolClassSettings:
    """The settings that `streams.core.domain.tool_class` reads."""

    read_tools: tuple[str, ...] = setting(
        (
            "read",
            "read_*",
            "*_read",
            "open",
            "open_file",
            "view",
            "view_*",
            "cat",
            "get_file*",
        ),
        globs(),
        "Patterns of the tools that read.",
    )
    write_tools: tuple[str, ...] = setting(
        (
            "write",
            "write_*",
            "*_write",
            "edit",
            "edit_*",
            "*_edit",
            "multiedit",
            "create_file",
            "str_replace*",
            "apply_patch",
            "append_*",
            "insert_*",
            "replace_*",
        ),
        globs(),
        "Patterns of the tools that change something.",
    )
    command_tools: tuple[str, ...] = setting(
        (
            "bash",
            "sh",
            "shell",
            "terminal",
            "cmd",
            "run",
            "run_*",
            "exec*",
            "test",
            "test_*",
            "*_test",
            "*_tests",
            "pytest",
            "make",
            "npm",
            "mvn",
            "gradle",
            "cargo",
            "go",
        ),
        globs(),
        "Patterns of the tools that run commands.",
    )

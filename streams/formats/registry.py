"""The formats, in the order in which they are tried: one line for each."""

from __future__ import annotations

from typing import Final

from streams.formats import avro_container, jsonl, recorded_messages, trajectory
from streams.formats.adapters import (
    anthropic_messages,
    atif,
    claude_code,
    claude_hooks,
    claude_stream_json,
    cline,
    cline_task,
    codex,
    codex_exec,
    copilot_cli,
    gemini_chat,
    gemini_cli,
    gemini_stream_json,
    langsmith,
    mini_swe_agent,
    mlflow,
    openai_chat,
    openai_responses,
    opencode,
    openhands,
    openhands_history,
    otlp_spans,
    pi,
    qwen_code,
    swe_agent,
)
from streams.formats.adapters.adapter import Format

FORMATS: Final[tuple[Format, ...]] = (
    avro_container.FORMAT,
    jsonl.FORMAT,
    trajectory.FORMAT,
    recorded_messages.FORMAT,
    otlp_spans.JSON_FORMAT,
    otlp_spans.PROTO_FORMAT,
    qwen_code.FORMAT,  # before Claude Code, whose envelope it has
    claude_code.FORMAT,
    claude_hooks.FORMAT,
    claude_stream_json.FORMAT,
    codex.FORMAT,
    codex_exec.FORMAT,
    gemini_cli.FORMAT,
    gemini_chat.FORMAT,
    gemini_stream_json.FORMAT,
    pi.FORMAT,
    copilot_cli.FORMAT,
    opencode.FORMAT,
    cline.FORMAT,
    cline_task.FORMAT,
    atif.FORMAT,
    mini_swe_agent.FORMAT,
    swe_agent.FORMAT,
    mlflow.FORMAT,
    langsmith.FORMAT,
    openhands.FORMAT,
    openhands_history.FORMAT,
    anthropic_messages.FORMAT,
    openai_responses.FORMAT,
    openai_chat.FORMAT,
)

BY_NAME: Final = {each.name: each for each in FORMATS}

FOREIGN: Final = tuple(each for each in FORMATS if not each.own)
"""The formats of other programs."""

AUTO: Final = "auto"
"""What `--format` says where each input is looked at."""

FORMAT_NAMES: Final = (AUTO, *BY_NAME)
"""What a command takes as `--format`."""

"""Real coding agents in a home of their own, with a model on the loopback alone."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from tests.pages import ROOT

INSTALLED = ROOT / ".cache" / "programs" / "node_modules"
BIN = ROOT / ".venv" / "bin"
TIMEOUT_S = 150


class Program(NamedTuple):
    """A program: its command for one task, its environment, and the settings that it needs.

    Attributes:
        command: the words of the command.
        environment: given where the model answers.
        settings: files below the home, by their path.
    """

    command: tuple[str, ...]
    environment: Callable[[str], Mapping[str, str]]
    settings: Mapping[str, object] = {}


def _opencode(url: str) -> Mapping[str, str]:
    options = {"baseURL": f"{url}/v1", "apiKey": "none"}
    provider = {"npm": "@ai-sdk/openai-compatible", "options": options, "models": {"stub": {"name": "stub"}}}
    config = {
        "provider": {"stub": provider},
        "permission": "allow",
        "autoupdate": False,
        "share": "disabled",
    }
    return {
        "OPENCODE_CONFIG_CONTENT": json.dumps(config),
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
        "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
    }


def _codex(url: str) -> Mapping[str, str]:
    return {"STUB_KEY": "none", "STUB_URL": url}


PROGRAMS: Mapping[str, Program] = {
    "claude-code": Program(
        ("@anthropic-ai/claude-code-linux-x64/claude", "-p", "Work.", "--allowedTools", "Bash"),
        lambda url: {
            "ANTHROPIC_BASE_URL": url,
            "ANTHROPIC_API_KEY": "none",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "ENABLE_TOOL_SEARCH": "false",
        },
    ),
    "codex": Program(
        (
            "@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex",
            "exec",
            "--dangerously-bypass-approvals-and-sandbox",
            "--dangerously-bypass-hook-trust",
            "--skip-git-repo-check",
            "-c",
            'model_providers.stub={{name="stub",base_url="{url}/v1",wire_api="responses",env_key="STUB_KEY"}}',
            "-c",
            "model_provider=stub",
            "-m",
            "gpt-5",
            "Work.",
        ),
        _codex,
    ),
    "gemini": Program(
        (".bin/gemini", "-p", "Work.", "--yolo"),
        lambda url: {
            "GEMINI_API_KEY": "none",
            "GOOGLE_GEMINI_BASE_URL": url,
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
        },
        {
            ".gemini/settings.json": {
                "security": {"auth": {"selectedType": "gemini-api-key"}},
                "privacy": {"usageStatisticsEnabled": False},
                "general": {"enableAutoUpdate": False},
                # Its own detection ends the turn at five equal calls, and not in sessions as Eddy sees them.
                "model": {"disableLoopDetection": True},
            }
        },
    ),
    "opencode": Program(
        ("opencode-linux-x64/bin/opencode", "run", "-m", "stub/stub", "Work."),
        _opencode,
    ),
    "copilot": Program(
        ("@github/copilot-linux-x64/copilot", "-p", "Work.", "--allow-all-tools"),
        lambda url: {
            "COPILOT_PROVIDER_TYPE": "openai",
            "COPILOT_PROVIDER_BASE_URL": f"{url}/v1",
            "COPILOT_PROVIDER_API_KEY": "none",
            "COPILOT_MODEL": "stub",
            "COPILOT_OFFLINE": "true",
        },
    ),
}


class Machine:
    """The home of a person with one program.

    Args:
        name: Name of the program, as it is installed.
        home: An empty folder.
        url: Where the model answers.
    """

    def __init__(self, name: str, home: Path, url: str) -> None:
        self.program, self.home = PROGRAMS[name], home
        self.project = home / "project"
        self.project.mkdir()
        self._url = url
        path = os.pathsep.join((str(BIN), str(INSTALLED / ".bin"), os.environ["PATH"]))
        self.environment = {"HOME": str(home), "PATH": path, "TERM": "dumb", **self.program.environment(url)}
        for file, settings in self.program.settings.items():
            (home / file).parent.mkdir(parents=True)
            (home / file).write_text(json.dumps(settings))

    def eddy(self, *words: str) -> str:
        """Run a command of Eddy to its end, and return what it wrote."""
        ran = subprocess.run(
            [BIN / "eddy", *words],
            env=self.environment,
            cwd=self.project,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )
        assert ran.returncode == 0, ran.stdout + ran.stderr
        return ran.stdout

    def work(self) -> str:
        """Give the program its task; return what it wrote."""
        program, *words = (word.format(url=self._url) for word in self.program.command)
        ran = subprocess.run(
            [INSTALLED / program, *words],
            env=self.environment,
            cwd=self.project,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )
        return ran.stdout + ran.stderr

    def journal(self) -> list[dict[str, object]]:
        """Return the lines of the watch's journal."""
        text = (self.home / ".local" / "state" / "eddy" / "watch.jsonl").read_text()
        return [json.loads(line) for line in text.splitlines()]

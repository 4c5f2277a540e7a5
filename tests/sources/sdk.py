"""Runs agents of real SDKs, each in a process of its own, on packages that Eddy does not have."""

from __future__ import annotations

import os
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from tests.sources.expected import Sdk
from tests.sources.script import SCRIPTS
from tests.sources.stub_model import stub_model

PYTHON: Final = Path(__file__).parents[2] / ".cache" / "sources" / "bin" / "python"
"""What `make test-sources` installs."""

MISSING: Final = "The SDKs of agents are not installed: run `make test-sources`."

_AGENTS: Final = Path(__file__).with_name("agents")
_SECONDS: Final = 150


def run_agents(sdk: Sdk, endpoint: str) -> None:
    """Run an agent for each script, and return when all is exported to the endpoint, OTLP over HTTP."""
    with stub_model() as model, ThreadPoolExecutor() as pool:
        for run in [pool.submit(_run, sdk, script, endpoint, model) for script in SCRIPTS]:
            run.result()


def _run(sdk: Sdk, script: str, endpoint: str, model: str) -> None:
    with tempfile.TemporaryDirectory() as home:
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": home,
            "SCRIPT": script,
            "SESSION": sdk.session(script),
            "OPENAI_API_KEY": "none",
            "OPENAI_BASE_URL": model,
            "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint,
            "OTEL_SERVICE_NAME": sdk.name,
            **dict(sdk.variables),
        }
        program = [PYTHON, _AGENTS / f"run_{sdk.program}.py"]
        ran = subprocess.run(
            program, env=environment, cwd=home, capture_output=True, text=True, timeout=_SECONDS, check=False
        )
    assert (ran.returncode, ran.stdout) == (0, ""), ran.stdout + ran.stderr

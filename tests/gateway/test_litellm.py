"""A real LiteLLM proxy with the callback that the page shows: what a console refuses reaches no model."""

from __future__ import annotations

import json
import os
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from eddy_client.integrations.claude_code_hooks import TOKEN_VARIABLE, URL_VARIABLE

from tests.guard.console import TOKEN, Console, console
from tests.pages import ROOT, Page
from tests.ports import own_port

pytestmark = pytest.mark.gateway

PAGE = Page((ROOT / "docs" / "gateways.md").read_text())
LITELLM = ROOT / ".cache" / "gateway" / "bin" / "litellm"
MASTER_KEY = "sk-of-the-test"
MODELS = """
model_list:
  - model_name: stub
    litellm_params: {model: openai/stub, api_key: none, mock_response: done}
"""
_PATIENCE_S = 180


class Proxy:
    """A proxy whose model always answers the same."""

    def __init__(self, port: int) -> None:
        self._url = f"http://127.0.0.1:{port}"

    def is_up(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self._url}/health/liveliness", timeout=5):
                return True
        except OSError:
            return False

    def call(self, headers: dict[str, str] | None = None, **more: Any) -> tuple[int, str]:
        body = {"model": "stub", "messages": [{"role": "user", "content": "Go on."}], **more}
        request = urllib.request.Request(
            f"{self._url}/v1/chat/completions",
            json.dumps(body).encode(),
            {"Authorization": f"Bearer {MASTER_KEY}", "Content-Type": "application/json", **(headers or {})},
        )
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()


@contextmanager
def proxy(folder: Path, url: str, module: str) -> Iterator[Proxy]:
    """Run a proxy with the callback of the page."""
    (folder / "ask_eddy.py").write_text(module)
    (config,) = PAGE.blocks("yaml")
    (folder / "config.yaml").write_text(MODELS + config)
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "LITELLM_MASTER_KEY": MASTER_KEY,
        "LITELLM_TELEMETRY": "False",
        URL_VARIABLE: url,
        TOKEN_VARIABLE: TOKEN,
    }
    if not LITELLM.exists():
        pytest.fail("LiteLLM is missing: run make test-gateway, which installs it.", pytrace=False)
    port = own_port()
    words = ["--config", "config.yaml", "--host", "127.0.0.1", "--port", str(port)]
    command = [str(LITELLM), *words]
    with (
        (folder / "log").open("wb") as log,
        subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=log) as process,
    ):
        try:
            found, deadline = Proxy(port), time.monotonic() + _PATIENCE_S
            while not found.is_up():
                assert process.poll() is None, (folder / "log").read_text()
                assert time.monotonic() < deadline, (folder / "log").read_text()
                time.sleep(0.2)
            yield found
        finally:
            process.terminate()


@pytest.fixture
def asked() -> Iterator[Console]:
    with console() as server:
        yield server


def test_a_call_of_a_session_that_loops_is_refused_with_the_reason_however_it_is_named(
    asked: Console, tmp_path: Path
) -> None:
    asked.refused["s-17"] = "The session goes in circles (R1)."
    (module,) = PAGE.blocks("python")
    with proxy(tmp_path, asked.url, module) as gateway:
        for more in (
            {"litellm_session_id": "s-17"},
            {"metadata": {"session_id": "s-17"}},
            {"headers": {"x-litellm-session-id": "s-17"}},
        ):
            status, said = gateway.call(**more)  # type: ignore[arg-type]  # headers or fields of the body
            assert status == 403, said
            assert "Refused by Eddy: The session goes in circles (R1)." in said
        for more in ({"litellm_session_id": "s-18"}, {}):
            status, said = gateway.call(**more)  # type: ignore[arg-type]
            assert (status, "done" in said) == (200, True), said
        assert asked.judged == {"/sessions/s-17/verdict?deny=LOOP": 3, "/sessions/s-18/verdict?deny=LOOP": 1}


@pytest.mark.parametrize(("on_lost", "status"), [("open", 200), ("closed", 503)])
def test_calls_go_on_without_a_console_unless_that_is_told_otherwise(
    tmp_path: Path, on_lost: str, status: int
) -> None:
    (module,) = PAGE.blocks("python")
    module = module.replace("EddyGateway()", f'EddyGateway(on_lost="{on_lost}")')
    with proxy(tmp_path, f"http://127.0.0.1:{own_port()}", module) as gateway:
        assert gateway.call(litellm_session_id="s-17")[0] == status

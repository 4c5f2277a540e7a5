"""`eddy notify test`: what it prints, and what it says of receivers."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from click.testing import CliRunner, Result

from streams.cli import main
from tests.unit.alerts.sinks.alerts import SECRET


def notify(*words: str) -> Result:
    return CliRunner().invoke(main, ("notify", *words))


class _Server(HTTPServer):
    status = 202


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        assert isinstance(self.server, _Server)
        self.send_response(self.server.status)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Iterator[_Server]:
    server = _Server(("127.0.0.1", 0), _Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("EDDY_NOTIFY_WEBHOOK_URL", f"http://127.0.0.1:{server.server_port}/s3cret-path")
    monkeypatch.setenv("EDDY_NOTIFY_WEBHOOK_SECRET", SECRET)
    yield server
    server.shutdown()
    server.server_close()


@pytest.mark.usefixtures("receiver")
def test_a_receiver_that_takes_both_is_fine() -> None:
    result = notify("test")
    assert result.exit_code == 0
    assert result.stdout.split("\n") == [
        "webhook: trigger",
        "  delivered",
        "webhook: resolve",
        "  delivered",
        "",
    ]


def test_a_receiver_that_refuses_is_a_problem_and_its_words_are_shown(receiver: _Server) -> None:
    receiver.status = 403
    result = notify("test", "webhook")
    assert result.exit_code == 1
    assert "HTTP 403" in result.stdout
    assert "s3cret" not in result.output


def test_nobody_listens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDDY_NOTIFY_ALERTMANAGER_URL", "http://127.0.0.1:9")
    result = notify("test")
    assert result.exit_code == 1
    assert "no connection (" in result.stdout


def test_a_dry_run_prints_the_requests_without_their_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDDY_NOTIFY_PAGERDUTY_KEY", "s3cret")
    result = notify("test", "--dry-run")
    assert result.exit_code == 0
    assert "POST https://events.pagerduty.com/v2/enqueue" in result.stdout
    assert '"event_action":"trigger"' in result.stdout
    assert '"event_action":"resolve"' in result.stdout
    assert '"routing_key":"(hidden)"' in result.stdout


def test_alertmanager_gets_no_end_that_would_come_before_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDDY_NOTIFY_ALERTMANAGER_URL", "http://am:9093")
    result = notify("test", "--dry-run")
    assert result.stdout.count("POST ") == 1
    assert "it ends by itself" in result.stdout


def test_a_sink_that_is_not_set_up_is_named_with_those_that_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDDY_NOTIFY_PAGERDUTY_KEY", "s3cret")
    result = notify("test", "slack")
    assert result.exit_code == 2
    assert "slack is not set up. These are: pagerduty." in result.output


def test_without_a_sink_there_is_nothing_to_do() -> None:
    result = notify()
    assert result.exit_code == 2
    assert "No receiver of alerts is set up" in result.output

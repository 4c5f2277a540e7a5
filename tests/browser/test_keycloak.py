"""People log in to the console at a real Keycloak, in a browser."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.browser.conftest import PATIENCE_MS, RECORDINGS
from tests.browser.console_process import ConsoleProcess
from tests.browser.keycloak import PASSWORD, Keycloak, running_keycloak
from tests.browser.watched import violations
from tests.ports import own_port

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [pytest.mark.openid, pytest.mark.timeout(600)]

CLIENT, SECRET = "eddy", "a secret of a test"
USERS = {"ana": ("sre", "engineering"), "vic": ("engineering",), "mallory": ("guests",)}


@pytest.fixture(scope="module")
def console() -> str:
    """Address of the console."""
    return f"http://127.0.0.1:{own_port()}"


@pytest.fixture(scope="module")
def keycloak(console: str) -> Iterator[Keycloak]:
    with running_keycloak() as running:
        running.create(USERS, CLIENT, SECRET, console)
        yield running


Starts = Callable[..., ConsoleProcess]


@pytest.fixture
def starts(keycloak: Keycloak, console: str, tmp_path: Path) -> Iterator[Starts]:
    """Start a console whose people are those of Keycloak."""
    started: list[ConsoleProcess] = []

    def start(secret: str = SECRET) -> ConsoleProcess:
        settings = {
            "EDDY_CONSOLE_OPENID_ISSUER": keycloak.issuer,
            "EDDY_CONSOLE_OPENID_CLIENT_ID": CLIENT,
            "EDDY_CONSOLE_OPENID_CLIENT_SECRET": secret,
            "EDDY_CONSOLE_URL": console,
            "EDDY_CONSOLE_OPERATOR_GROUPS": "sre",
            "EDDY_CONSOLE_VIEWER_GROUPS": "engineering",
        }
        port = int(console.rpartition(":")[2])
        process = ConsoleProcess([str(RECORDINGS)], tmp_path / "console", port=port, settings=settings)
        started.append(process)
        assert process.link() == console
        return process

    yield start
    for process in started:
        process.kill()


@pytest.fixture
def page(browser: Browser, console: str) -> Iterator[Page]:
    context = browser.new_context(base_url=console)
    context.set_default_timeout(PATIENCE_MS)
    yield context.new_page()
    context.close()


def log_in(page: Page, name: str) -> None:
    page.click("text=Log in with localhost")
    page.fill("#username", name)
    page.fill("#password", PASSWORD)
    page.click("#kc-login")


def test_an_operator_logs_in_where_they_wanted_to_go_and_out_of_both(
    starts: Starts, page: Page, console: str
) -> None:
    process = starts()
    page.goto("/sessions?q=agent")
    page.wait_for_selector("text=Log in with localhost")
    assert violations(page) == []
    log_in(page, "ana")
    page.wait_for_url(f"{console}/sessions?q=agent")
    assert page.text_content("header .name") == "ana@ops.example · operator"

    page.click("text=Log out")
    page.wait_for_selector("text=You are logged out of Eddy.")
    assert violations(page) == []
    page.click("text=Log out of localhost")
    page.click("#kc-logout")  # Keycloak asks whether one means it
    page.wait_for_url(f"{console}/login")
    page.click("text=Log in with localhost")
    page.wait_for_selector("#password")  # it does not know the person any more
    assert SECRET not in process.log
    assert "Traceback" not in process.log


def test_groups_say_who_looks_and_who_stays_out(starts: Starts, page: Page, console: str) -> None:
    starts()
    page.goto("/sessions")
    log_in(page, "mallory")
    page.wait_for_selector("text=name no group of mallory@ops.example")
    assert page.url.startswith(f"{console}/login/openid/callback")
    page.context.clear_cookies()
    page.goto("/sessions")
    log_in(page, "vic")
    page.wait_for_url(f"{console}/sessions")
    assert page.text_content("header .name") == "vic@ops.example · viewer"


def test_a_new_key_of_the_provider_needs_no_restart(
    starts: Starts, page: Page, keycloak: Keycloak, console: str
) -> None:
    starts()
    page.goto("/sessions")
    log_in(page, "ana")
    page.wait_for_url(f"{console}/sessions")
    keycloak.change_keys()
    page.context.clear_cookies()
    # Keys are asked for again after ten seconds, not before: until then people are told to try again.
    page.goto("/sessions")
    log_in(page, "vic")
    page.wait_for_selector("main h1")
    while page.text_content("main h1") == "The login provider cannot be used":
        page.goto("/login/openid?next=/sessions")
        page.wait_for_selector("main h1")
    page.wait_for_url(f"{console}/sessions")
    assert page.text_content("header .name") == "vic@ops.example · viewer"


def test_a_wrong_secret_is_told_to_people_and_to_the_log(starts: Starts, page: Page) -> None:
    process = starts("another secret")
    page.goto("/sessions")
    log_in(page, "ana")
    page.wait_for_selector("text=The login provider cannot be used")
    assert "with status 401 and 'unauthorized_client'" in (page.text_content("main") or "")
    assert "unauthorized_client" in process.log
    assert "another secret" not in process.log

"""Which sinks the settings ask for, where secrets come from, and that no message shows one."""

from pathlib import Path

import pytest

from streams.alerts.settings import NotifySettings
from streams.alerts.sink_kinds import sinks
from streams.alerts.transport import HttpTransport
from streams.core.errors import ConfigurationError
from streams.observe.settings import load
from tests.unit.alerts.sinks.alerts import SECRET


def names(**settings: object) -> list[str]:
    return [each.name for each in sinks(load(NotifySettings, **settings))]


def test_a_sink_is_on_as_soon_as_its_settings_are_there(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("xoxb-1\n")
    assert names(
        notify_alertmanager_url="http://am:9093",
        notify_webhook_url="https://hooks.example.com/1",
        notify_webhook_secret=SECRET,
        notify_pagerduty_key="R0UT1NG",
        notify_slack_token_file=tmp_path / "token",
        notify_slack_channel="#agents",
        notify_otlp_url="http://collector:4318",
        notify_apprise_urls="json://localhost",
    ) == ["alertmanager", "webhook", "pagerduty", "slack", "otlp", "apprise"]


def test_each_server_of_a_cluster_is_a_sink_of_its_own() -> None:
    urls = "http://am-1:9093, http://u:s3cret@am-2:9093/prefix/"
    assert names(notify_alertmanager_url=urls) == ["alertmanager-am-1:9093", "alertmanager-am-2:9093"]


def test_servers_behind_one_host_are_told_apart_or_one_would_pass_for_the_other() -> None:
    urls = (
        "https://am/team-a, https://am/team-b/, https://am/team-a, https://u:s3cret@am/team-a, https://other/"
    )
    assert names(notify_alertmanager_url=urls) == [
        "alertmanager-am:443/team-a",
        "alertmanager-am:443/team-b",
        "alertmanager-am:443/team-a#2",
        "alertmanager-other:443",
    ]


def test_without_a_sink_it_says_which_there_are() -> None:
    with pytest.raises(ConfigurationError, match="EDDY_NOTIFY_PAGERDUTY_KEY"):
        names()


def test_a_secret_in_a_file_is_read_without_its_line_break(tmp_path: Path) -> None:
    (path := tmp_path / "key").write_text("R0UT1NG\n")
    assert load(NotifySettings, notify_pagerduty_key_file=path).secret("pagerduty_key") == "R0UT1NG"


@pytest.mark.parametrize("content", [None, b"", b"\xff\xfe"], ids=["missing", "empty", "no text"])
def test_a_file_without_a_secret_is_named(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "key"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ConfigurationError, match=f"EDDY_NOTIFY_PAGERDUTY_KEY_FILE names {path}"):
        names(notify_pagerduty_key_file=path)


@pytest.mark.parametrize(
    "settings",
    [
        {"notify_pagerduty_key": "s3cret", "notify_pagerduty_key_file": "/nowhere"},
        {"notify_slack_token": "s3cret"},
        {
            "notify_slack_token": "s3cret",
            "notify_slack_webhook": "https://s3cret",
            "notify_slack_channel": "#a",
        },
        {"notify_webhook_url": "https://s3cret.example.com"},
        {"notify_webhook_url": "s3cret", "notify_webhook_secret": SECRET},
        {"notify_webhook_url": "https://example.com", "notify_webhook_secret": "s3cret"},
        {"notify_slack_webhook": "s3cret"},
        {"notify_otlp_url": "http://c:4318", "notify_otlp_headers": "s3cret"},
        {"notify_otlp_url": "http://c:4318", "notify_otlp_headers": "x-api-key=s3\ncret"},
        {"notify_otlp_url": "http://c:4318", "notify_otlp_headers": "x api: key=s3cret"},
        {"notify_alertmanager_url": "http://am:9093", "notify_alertmanager_token": "s3cret\r\nHost: x"},
        {"notify_slack_token": "xoxb-s3\ncret", "notify_slack_channel": "#a"},
        {"notify_alertmanager_url": "am:9093"},
        {"notify_console_url": "s3cret"},
        {"notify_families": "s3cret"},
        {"notify_apprise_urls": "s3cret"},
    ],
    ids=", ".join,
)
def test_what_cannot_be_used_is_refused_and_no_secret_is_shown(settings: dict[str, object]) -> None:
    with pytest.raises(ConfigurationError) as refused:
        start(settings)
    assert "s3cret" not in str(refused.value)
    assert "EDDY_NOTIFY" in str(refused.value) or "webhook" in str(refused.value)


def start(settings: dict[str, object]) -> None:
    """Read settings as a start does."""
    loaded = load(NotifySettings, **settings)
    sinks(loaded)
    HttpTransport(1.0, apprise_urls=loaded.secret("apprise_urls"))


def test_a_secret_file_of_several_lines_is_refused_where_a_header_carries_it(tmp_path: Path) -> None:
    """It ended the notifier at the first alert."""
    (path := tmp_path / "token").write_text("s3cret\nanother\n")
    with pytest.raises(
        ConfigurationError, match="EDDY_NOTIFY_ALERTMANAGER_TOKEN_FILE has a line break"
    ) as it:
        names(notify_alertmanager_url="http://am:9093", notify_alertmanager_token_file=path)
    assert "s3cret" not in str(it.value)


def test_addresses_of_apprise_and_two_webhook_secrets_may_stand_on_lines_of_their_own(tmp_path: Path) -> None:
    (urls := tmp_path / "urls").write_text("json://localhost\njson://example.com\n")
    (secrets := tmp_path / "secrets").write_text(f"{SECRET}\n{SECRET}\n")
    assert names(
        notify_apprise_urls_file=urls,
        notify_webhook_url="https://example.com",
        notify_webhook_secret_file=secrets,
    ) == ["webhook", "apprise"]

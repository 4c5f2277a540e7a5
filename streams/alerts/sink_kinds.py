"""The sinks that the settings ask for: one line for each kind."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.metadata import version
from typing import Final

from yarl import URL

from schemas.bundled import latest
from streams.alerts.settings import NotifySettings
from streams.alerts.sinks.alertmanager import Alertmanager
from streams.alerts.sinks.apprise import Apprise
from streams.alerts.sinks.otlp import OtlpLogs
from streams.alerts.sinks.pagerduty import DEFAULT_URL as PAGERDUTY_URL
from streams.alerts.sinks.pagerduty import PagerDuty
from streams.alerts.sinks.sink import Sink
from streams.alerts.sinks.slack import DEFAULT_URL as SLACK_URL
from streams.alerts.sinks.slack import SlackBot, SlackWebhook
from streams.alerts.sinks.webhook import Webhook, keys
from streams.alerts.sinks.wording import Wording
from streams.core.domain.topic import Topic
from streams.core.errors import ConfigurationError

#: A token, as RFC 9110 calls it.
_HEADER_NAME: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")

Maker = Callable[[NotifySettings, Wording], Iterable[Sink]]


def sinks(settings: NotifySettings) -> tuple[Sink, ...]:
    """Return every sink that is set up.

    Raises:
        ConfigurationError: none is, or a secret cannot be used.
    """
    words = Wording(settings.notify_console_url, settings.notify_currency)
    found = tuple(sink for maker in KINDS.values() for sink in maker(settings, words))
    if not found:
        raise ConfigurationError(
            "No receiver of alerts is set up. Set EDDY_NOTIFY_ALERTMANAGER_URL, EDDY_NOTIFY_WEBHOOK_URL, "
            "EDDY_NOTIFY_PAGERDUTY_KEY, EDDY_NOTIFY_SLACK_WEBHOOK, EDDY_NOTIFY_OTLP_URL or "
            "EDDY_NOTIFY_APPRISE_URLS; `eddy settings notify` shows all."
        )
    return found


def _alertmanagers(settings: NotifySettings, words: Wording) -> Iterable[Sink]:
    token, urls = settings.secret("alertmanager_token"), tuple(dict.fromkeys(settings.alertmanagers))
    servers = [f"{URL(url).host}:{URL(url).port}" for url in urls]
    for url, name in zip(urls, _apart(urls, servers), strict=True):
        yield Alertmanager(f"alertmanager-{name}" if len(urls) > 1 else "alertmanager", url, words, token)


def _apart(urls: Sequence[str], servers: Sequence[str]) -> Iterable[str]:
    """Yield a name for each: with its path where several have one host, with a number if that is not enough.

    How far a sink has got is known by its name, so two of one name would pass for one another.
    """
    named: Counter[str] = Counter()
    for url, server in zip(urls, servers, strict=True):
        name = server if servers.count(server) == 1 else f"{server}{URL(url).path}"
        named[name] += 1
        yield name if named[name] == 1 else f"{name}#{named[name]}"


def _webhook(settings: NotifySettings, words: Wording) -> Iterable[Sink]:
    url, secret = settings.secret("webhook_url"), settings.secret("webhook_secret")
    if url is None:
        return
    _check_address(url, "EDDY_NOTIFY_WEBHOOK_URL")
    if secret is None:
        raise ConfigurationError(
            "EDDY_NOTIFY_WEBHOOK_SECRET is needed for EDDY_NOTIFY_WEBHOOK_URL: without a signature, whoever "
            'finds the address can forge alerts. This prints one: echo "whsec_$(openssl rand -base64 32)"'
        )
    source = f"/eddy/{settings.job}/{settings.topic_prefix}{Topic.SESSION_ALERTS}"
    schema = latest(f"{Topic.SESSION_ALERTS}-value")
    yield Webhook(url, keys(secret), source, schema.version, words)


def _pagerduty(settings: NotifySettings, words: Wording) -> Iterable[Sink]:
    if (key := settings.secret("pagerduty_key")) is not None:
        yield PagerDuty(key, words, settings.notify_pagerduty_url or PAGERDUTY_URL)


def _slack(settings: NotifySettings, words: Wording) -> Iterable[Sink]:
    if (url := settings.secret("slack_webhook")) is not None:
        _check_address(url, "EDDY_NOTIFY_SLACK_WEBHOOK")
        yield SlackWebhook(url, words)
    if (token := settings.secret("slack_token")) is not None:
        yield SlackBot(token, settings.notify_slack_channel, words, settings.notify_slack_url or SLACK_URL)


def _otlp(settings: NotifySettings, words: Wording) -> Iterable[Sink]:
    if settings.notify_otlp_url is not None:
        given = _headers(settings.secret("otlp_headers") or "")
        yield OtlpLogs(settings.notify_otlp_url, given, words, version("eddy-streams"))


def _apprise(settings: NotifySettings, words: Wording) -> Iterable[Sink]:
    if settings.secret("apprise_urls") is not None:
        yield Apprise(words)


#: By the name that `eddy notify test` takes.
KINDS: Final[Mapping[str, Maker]] = {
    "alertmanager": _alertmanagers,
    "webhook": _webhook,
    "pagerduty": _pagerduty,
    "slack": _slack,
    "otlp": _otlp,
    "apprise": _apprise,
}


def _check_address(url: str, variable: str) -> None:
    """Refuse what is no address, without showing it: it is a secret.

    Raises:
        ConfigurationError: it is none.
    """
    try:
        is_one = URL(url).scheme in {"http", "https"} and URL(url).host is not None
    except ValueError:
        is_one = False
    if not is_one:
        raise ConfigurationError(f"{variable} must be an address that begins with http:// or https://.")


def _headers(text: str) -> Mapping[str, str]:
    """Read `name=value,name=value`, as OTEL_EXPORTER_OTLP_HEADERS has it.

    Raises:
        ConfigurationError: it is something else; the message does not show it.
    """
    pairs = [part.partition("=") for part in text.split(",") if part.strip()]
    if not all(name.strip() and equals for name, equals, _ in pairs):
        raise ConfigurationError("EDDY_NOTIFY_OTLP_HEADERS must be name=value, separated by commas.")
    found = {name.strip(): value.strip() for name, _, value in pairs}
    if not all(map(_HEADER_NAME.fullmatch, found)):
        raise ConfigurationError("EDDY_NOTIFY_OTLP_HEADERS names a header as no header can be called.")
    return found

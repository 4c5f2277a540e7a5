"""The settings of the process and the address it would listen on."""

from __future__ import annotations

import socket
from collections.abc import Collection, Iterator, Mapping
from difflib import get_close_matches
from typing import Final

import aiohttp

from streams.core.errors import ConfigurationError
from streams.observe.settings import BridgeSettings, CommandSettings, WorkerSettings
from streams.operate.doctor.check import Check, fail, ok, warn
from streams.worker.wiring import engine_options

_PREFIX: Final = "EDDY_"
#: Not settings of a worker: Faust's own, what tests use, where `eddy hook` writes, those of a console and of
#: a notifier, and what is read before all settings.
_KNOWN: Final = (
    "EDDY_FAUST_",
    "EDDY_CRASH_POINT",
    "EDDY_HOOK_FILE",
    "EDDY_CONSOLE_",
    "EDDY_NOTIFY_",
    "EDDY_NATIVE",
)


def settings_checks(settings: WorkerSettings, environment: Mapping[str, str]) -> Iterator[Check]:
    """Yield whether every variable means something, and whether the options handed through exist."""
    names = {*BridgeSettings.model_fields, *CommandSettings.model_fields}
    fields = {f"{_PREFIX}{name.upper()}" for name in names}
    given = {name.upper() for name in environment if name.upper().startswith(_PREFIX)}
    unknown = sorted(name for name in given - fields if not name.startswith(_KNOWN))
    try:
        engine_options(settings)
    except ConfigurationError as error:
        yield fail("settings", str(error), "Correct the variable, then run this again.")
        return
    if unknown:
        told = ", ".join(_perhaps(name, fields) for name in unknown)
        yield warn("settings", f"means nothing to Eddy: {told}", "Correct the name, or unset it.")
    else:
        yield ok("settings", f"usable; {_set(len(given & fields))}")


async def port_check(settings: WorkerSettings, within: float) -> Check:
    """Return whether /livez, /readyz and /metrics can be served; if a worker serves them, what they say."""
    host, port = settings.web_host, settings.web_port
    address = f"{host}:{port}"
    if port == 0:
        return ok("web port", "a free one is chosen")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        with socket.socket(family) as tried:
            tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            tried.bind((host, port))
    except OSError as error:
        answer = await _answer(host, port, within)
        if answer is not None:
            return ok("web port", f"a worker answers at {address}: {answer}")
        advice = "Choose another with EDDY_WEB_HOST and EDDY_WEB_PORT, or end what has it."
        return warn("web port", f"{address} is not available ({error.strerror or error})", advice)
    return ok("web port", f"{address} is free")


async def _answer(host: str, port: int, within: float) -> str | None:
    """Return what a worker there says of itself; None when nothing there answers like a worker."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - asked, not bound
    url = f"http://{f'[{host}]' if ':' in host else host}:{port}/readyz"
    timeout = aiohttp.ClientTimeout(total=within)
    try:
        async with aiohttp.ClientSession(timeout=timeout) as session, session.get(url) as response:
            body = await response.json(content_type=None)
            ready = response.status == 200
    except (aiohttp.ClientError, TimeoutError, ValueError):
        return None
    if not isinstance(body, dict):
        return None
    return "ready" if ready else "not ready"


def _set(count: int) -> str:
    """Say how many settings variables set."""
    match count:
        case 0:
            return "no variable sets any"
        case 1:
            return "1 is set by a variable"
        case _:
            return f"{count} are set by variables"


def _perhaps(name: str, fields: Collection[str]) -> str:
    close = get_close_matches(name, sorted(fields), n=1, cutoff=0.8)
    return f"{name} (perhaps {close[0]}?)" if close else name

"""A LiteLLM proxy that asks a console before it lets a call of a model through.

The session of a call is its ``litellm_session_id``, or ``session_id`` in its metadata. A call that names none
goes through: it belongs to no session that Eddy knows.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import urllib.parse
import urllib.request
from collections.abc import Mapping
from typing import Any

from fastapi import HTTPException
from litellm.integrations.custom_logger import CustomLogger

from eddy_client.integrations.claude_code_hooks import TOKEN_VARIABLE, URL_VARIABLE

_ANSWER_S = 2.0
"""How long a call of a model waits for a console that does not answer."""

log = logging.getLogger("eddy_client.gateway")


class EddyGateway(CustomLogger):  # type: ignore[misc,unused-ignore]  # without types where LiteLLM is missing
    """Refuses calls of sessions that go in circles, are paused, or were aborted: status 403, with the reason.

    Args:
        url: The console; `EDDY_GUARD_URL`.
        token: Of an agent, whose pattern fits all agents behind this proxy; `EDDY_GUARD_TOKEN`.
        deny: The level from which on calls are refused: WARNING or LOOP. None refuses those only that are
            paused or aborted.
        on_lost: What becomes of calls while the console does not answer: "open" or "closed".

    Raises:
        ValueError: there is no address of a console.
    """

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        deny: str | None = "LOOP",
        on_lost: str = "open",
    ) -> None:
        super().__init__()
        self._url = (url or os.environ.get(URL_VARIABLE, "")).rstrip("/")
        if urllib.parse.urlsplit(self._url).scheme not in ("http", "https"):
            raise ValueError(f"Set {URL_VARIABLE} to the address of a console, https://console:8070.")
        self._token = token or os.environ.get(TOKEN_VARIABLE, "")
        self._deny = deny
        self._is_open = on_lost == "open"

    async def async_pre_call_hook(
        self, user_api_key_dict: Any, cache: Any, data: dict[str, Any], call_type: Any
    ) -> dict[str, Any]:
        """Return the call as it came, if it may go through.

        Raises:
            HTTPException: it may not; 403 with the reason, or 503 if the console is lost.
        """
        del user_api_key_dict, cache, call_type
        session_id = session_of(data)
        if session_id is None:
            return data
        try:
            said = await asyncio.to_thread(self._asked, session_id)
        except (OSError, ValueError) as error:
            log.warning("The console could not be asked about a session: %s", error)
            if self._is_open:
                return data
            raise HTTPException(503, "Eddy's console does not answer, so no call goes through.") from error
        if said["allow"] is not True:
            raise HTTPException(403, f"Refused by Eddy: {said['why']}")
        return data

    def _asked(self, session_id: str) -> Mapping[str, Any]:
        query = f"?{urllib.parse.urlencode({'deny': self._deny})}" if self._deny else ""
        request = urllib.request.Request(  # noqa: S310 - the scheme was looked at
            f"{self._url}/sessions/{urllib.parse.quote(session_id, safe='')}/verdict{query}",
            headers={"Authorization": f"Bearer {self._token}", "Accept": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=_ANSWER_S) as answer:  # noqa: S310
            said = json.load(answer)
        if not isinstance(said, dict) or not isinstance(said.get("allow"), bool):
            raise ValueError("what answers is no console of Eddy")  # noqa: TRY004 - whoever it is
        return said


def session_of(data: Mapping[str, Any]) -> str | None:
    """Return the session that a call belongs to, None if it names none."""
    for holder in (data, data.get("metadata"), data.get("litellm_metadata")):
        if isinstance(holder, Mapping):
            for name in ("litellm_session_id", "session_id"):
                value = holder.get(name)
                if isinstance(value, str) and value:
                    return value
    return None

"""Where the token of a login by OAUTHBEARER comes from: a file, a command, or a function of a package.

It is asked again at each login: a token that is renewed where it comes from is used by the next connection.
"""

from __future__ import annotations

import asyncio
import importlib
import os
import shlex
import signal
import subprocess
import threading
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from aiokafka.abc import AbstractTokenProvider

#: As long as a client waits for a request by default: it tries again afterwards.
_SECONDS: Final = 30.0
#: Threads that a function may hold without an answer. Beyond, logins wait for the last of them.
_MOST_HANGING: Final = 4


@dataclass(frozen=True, slots=True)
class TokenSource:
    """Exactly one of the three, as `streams.observe.settings` has checked.

    Attributes:
        file: Holds the token, such as one that Kubernetes renews.
        command: Command that prints the token.
        provider: ``module:function``; it returns the token, or the token and when it ends.
        argument: What the function is called with, if anything: the region, for MSK.
        seconds: How long any of them may take.
        says: Beginning of the names of its settings, for messages.
    """

    file: Path | None = None
    command: str = ""
    provider: str = ""
    argument: str = ""
    seconds: float = _SECONDS
    says: str = "EDDY_SASL_OAUTH_TOKEN_"

    @property
    def given(self) -> bool:
        """Whether it names anything."""
        return self.file is not None or bool(self.command or self.provider)

    def read(self) -> str:
        """Return a token; this blocks.

        Raises:
            OSError: there is none now; the client tries again. The message shows no token.
        """
        if self.file is not None:
            return _whole(self.file.read_bytes(), f"The file of {self.says}FILE")
        if self.command:
            return _whole(self._printed(), f"The command of {self.says}COMMAND")
        return _whole(self._returned().encode(errors="replace"), f"The function of {self.says}PROVIDER")

    def _printed(self) -> bytes:
        with subprocess.Popen(  # noqa: S603 - that is what the setting is for
            shlex.split(self.command),
            # Nobody is there to answer it; and the input of one worker of several is its tether.
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            # With what it starts it can be killed as one, and none of them can ask on the terminal.
            start_new_session=True,
        ) as command:
            try:
                printed, _ = command.communicate(timeout=self.seconds)
            except subprocess.TimeoutExpired:
                # It has not been waited for, so no other group can have its number.
                os.killpg(command.pid, signal.SIGKILL)
                raise OSError(
                    f"The command of {self.says}COMMAND did not end within {self.seconds:g} s"
                ) from None
        if command.returncode != 0:
            raise OSError(f"The command of {self.says}COMMAND ended with {command.returncode}")
        return printed

    def _returned(self) -> str:
        module, _, function = self.provider.partition(":")
        try:
            asked: Any = getattr(importlib.import_module(module), function)
            found: Any = asked(self.argument) if self.argument else asked()
        except Exception as error:
            # Whatever a package of others raises: the client waits and tries again, and the log has the kind.
            raise OSError(f"{self.says}PROVIDER={self.provider} failed ({type(error).__name__})") from error
        return str(found[0] if isinstance(found, tuple) else found)


def _whole(token: bytes, whose: str) -> str:
    if not (found := token.strip()):
        raise OSError(f"{whose} gave no token")
    if not (found.isascii() and found.decode().isprintable()):
        raise OSError(f"{whose} gave something else than a token: it is not printable ASCII")
    return found.decode()


class TokenProvider(AbstractTokenProvider):  # type: ignore[misc]
    """What aiokafka asks at each login. Never blocks the loop, and never waits for ever.

    Clients that ask at the same time get the same answer. A function without a time limit of its own may
    hang: the next login asks again, in another thread, up to `_MOST_HANGING`. The end of the process waits
    for none of them.

    Args:
        source: Where tokens come from.
    """

    def __init__(self, source: TokenSource) -> None:
        self._source = source
        self._lock = threading.Lock()  # clients in the consumer's thread ask too
        self._asked: Future[str] | None = None
        self._hanging: list[Future[str]] = []

    async def token(self) -> str:
        """Return a token.

        Raises:
            OSError: there is none now, or not in time; the client tries again.
        """
        # A command that is too slow is killed, and says so itself.
        limit = self._source.seconds * (1.5 if self._source.command else 1.0)
        asked = self._ask()
        try:
            return await asyncio.wait_for(asyncio.shield(asyncio.wrap_future(asked)), limit)
        except TimeoutError:
            self._give_up(asked)
            raise OSError(f"No token within {limit:g} s from what {self._source.says}... names") from None

    def _ask(self) -> Future[str]:
        with self._lock:
            if self._asked is None or self._asked.done():
                self._asked = Future()
                threading.Thread(target=self._answer, args=(self._asked,), name="token", daemon=True).start()
            return self._asked

    def _give_up(self, asked: Future[str]) -> None:
        with self._lock:
            self._hanging = [each for each in self._hanging if not each.done()]
            if self._asked is asked and len(self._hanging) + 1 < _MOST_HANGING:
                self._hanging.append(asked)
                self._asked = None

    def _answer(self, asked: Future[str]) -> None:
        try:
            asked.set_result(self._source.read())
        except BaseException as error:  # noqa: BLE001 - it reaches whoever has asked
            asked.set_exception(error)

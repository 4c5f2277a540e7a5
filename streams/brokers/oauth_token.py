"""Where the token of a login by OAUTHBEARER comes from: a file, a command, or a function of a package.

It is asked again at each login: a token that is renewed where it comes from is used by the next connection.
"""

from __future__ import annotations

import asyncio
import importlib
import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aiokafka.abc import AbstractTokenProvider

_SECONDS = 30
_SAYS = "EDDY_SASL_OAUTH_TOKEN_"


@dataclass(frozen=True, slots=True)
class TokenSource:
    """Exactly one of the three, as `streams.settings` has checked.

    Attributes:
        file: Holds the token, such as one that Kubernetes renews.
        command: Prints it.
        provider: ``module:function``; it returns the token, or the token and when it ends.
        argument: What the function is called with, if anything: the region, for MSK.
    """

    file: Path | None = None
    command: str = ""
    provider: str = ""
    argument: str = ""

    def read(self) -> str:
        """Return a token; this blocks.

        Raises:
            OSError: there is none now; the client tries again. The message shows no token.
        """
        if self.file is not None:
            return _whole(self.file.read_bytes(), f"The file of {_SAYS}FILE")
        if self.command:
            return _whole(self._printed(), f"The command of {_SAYS}COMMAND")
        return _whole(self._returned().encode(errors="replace"), f"The function of {_SAYS}PROVIDER")

    def _printed(self) -> bytes:
        try:
            done = subprocess.run(  # noqa: S603 - that is what the setting is for
                shlex.split(self.command),
                # Nobody is there to answer it; and the input of one worker of several is its tether.
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise OSError(f"The command of {_SAYS}COMMAND did not end within {_SECONDS} s") from None
        if done.returncode != 0:
            raise OSError(f"The command of {_SAYS}COMMAND ended with {done.returncode}")
        return done.stdout

    def _returned(self) -> str:
        module, _, function = self.provider.partition(":")
        try:
            asked: Any = getattr(importlib.import_module(module), function)
            found: Any = asked(self.argument) if self.argument else asked()
        except Exception as error:
            # Whatever a package of others raises: the client waits and tries again, and the log has the kind.
            raise OSError(f"{_SAYS}PROVIDER={self.provider} failed ({type(error).__name__})") from error
        return str(found[0] if isinstance(found, tuple) else found)


def _whole(token: bytes, whose: str) -> str:
    if not (found := token.strip()):
        raise OSError(f"{whose} gave no token")
    if not found.isascii():
        raise OSError(f"{whose} gave something else than a token: it is not ASCII")
    return found.decode()


class TokenProvider(AbstractTokenProvider):  # type: ignore[misc]
    """What aiokafka asks at each login. Never blocks the loop.

    Args:
        source: Where tokens come from.
    """

    def __init__(self, source: TokenSource) -> None:
        self._source = source

    async def token(self) -> str:
        """Return a token."""
        return await asyncio.to_thread(self._source.read)

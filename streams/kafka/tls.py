"""TLS whose certificates may be renewed on disk while the process runs: new connections use the new files.

Kubernetes and cert-manager replace files before a certificate ends. Nobody has to restart anything then.
"""

from __future__ import annotations

import hashlib
import logging
import ssl
import threading
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Self

from aiokafka.helpers import create_ssl_context

from streams.core.errors import ConfigurationError

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """The files of a client's TLS, PEM. Without ``cafile`` the authorities of the system are trusted."""

    cafile: str | None = None
    certfile: str | None = None
    keyfile: str | None = None
    keyfile_password: str | None = field(default=None, repr=False)
    check_hostname: bool = True
    says: str = "EDDY_SSL_"
    """Beginning of the names of their settings, for messages."""

    def digest(self) -> bytes:
        """Return what tells the contents of the files from others.

        Raises:
            OSError: a file cannot be read.
        """
        found = hashlib.sha256()
        for name in (self.cafile, self.certfile, self.keyfile):
            content = b"" if name is None else Path(name).read_bytes()
            found.update(len(content).to_bytes(8, "big") + content)
        return found.digest()

    def context(self) -> ssl.SSLContext:
        """Return a context with what the files hold now.

        Raises:
            OSError: a file cannot be read, or not used.
        """
        context: ssl.SSLContext = create_ssl_context(
            cafile=self.cafile,
            certfile=self.certfile,
            keyfile=self.keyfile,
            # Without one, OpenSSL would ask on the terminal for the password of an encrypted key.
            password=self.keyfile_password or "",
        )
        context.check_hostname = self.check_hostname
        return context


class RenewedContext(ssl.SSLContext):
    """A TLS context for clients that looks at its files before each connection.

    If they have changed, a fresh context takes over: an authority that is gone is trusted no more. If they
    cannot be used, such as a certificate whose key is still to come, the one before stays in use.

    Args:
        files: Certificates and key to use, as paths.

    Raises:
        ConfigurationError: they cannot be used at the start.
    """

    def __new__(cls, _files: TlsFiles) -> Self:
        """Make one."""
        return super().__new__(cls, ssl.PROTOCOL_TLS_CLIENT)

    def __init__(self, files: TlsFiles) -> None:
        self._files = files
        self._lock = threading.Lock()  # the consumer's thread connects too
        self._problem = ""
        try:
            # First, so that a change meanwhile is seen the next time.
            self._seen: bytes | str = files.digest()
            self._newest = files.context()
        except OSError as error:
            raise ConfigurationError(
                f"The TLS files cannot be used ({error}). Check {files.says}CAFILE, {files.says}CERTFILE, "
                f"{files.says}KEYFILE and {files.says}KEYFILE_PASSWORD."
            ) from error
        self.check_hostname = files.check_hostname

    @property
    def outdated(self) -> bool:
        """Whether the files have changed and cannot be used."""
        return bool(self._problem)

    def newest(self) -> ssl.SSLContext:
        """Look at the files, and return the context for the next connection."""
        with self._lock:
            seen = self._look()
            if seen != self._seen:
                self._seen = seen
                self._renew()
            return self._newest

    def _look(self) -> bytes | str:
        try:
            return self._files.digest()
        except OSError as error:
            return str(error)

    def _renew(self) -> None:
        try:
            self._newest = self._files.context()
        except OSError as error:
            self._problem = str(error)
            log.warning(
                "The TLS files have changed and cannot be used (%s). New connections use those from before. "
                "Check %sCAFILE and the settings beside it.",
                error,
                self._files.says,
            )
        else:
            self._problem = ""
            log.info("The TLS files have changed. New connections use the new ones.")

    def wrap_bio(self, *args: Any, **kwargs: Any) -> ssl.SSLObject:
        """Begin a connection: what asyncio calls."""
        return self.newest().wrap_bio(*args, **kwargs)

    def wrap_socket(self, *args: Any, **kwargs: Any) -> ssl.SSLSocket:
        """Begin a connection."""
        return self.newest().wrap_socket(*args, **kwargs)


@cache
def renewed_context(files: TlsFiles) -> RenewedContext:
    """Return the one context of the process for these files: what becomes of them is logged once.

    Raises:
        ConfigurationError: they cannot be used.
    """
    return RenewedContext(files)

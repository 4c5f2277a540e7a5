"""From a path to what reads it: its format, how far it was read, and what it took over from."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from streams.core.errors import ConfigurationError
from streams.formats.adapters.adapter import Format, UnitKind
from streams.formats.format_detection import HEAD_BYTES, FormatDetection
from streams.formats.ingest.document_tail import DocumentTail, PartsTail
from streams.formats.ingest.store import Checkpoint, FileIdentity, Fingerprint, Store
from streams.formats.ingest.tail import (
    LogTail,
    SourceTail,
    continues,
    fingerprint,
    first_line,
    identity_of,
    opened,
)
from streams.formats.input_file import is_plain, open_input
from streams.formats.sources import Source, parts


class Opening:
    """Opens inputs, where they were left.

    Args:
        store: Remembers how far each input was read.
        formats: Finds formats. An input is read on in the format that was found before.
        since: Records before this time are left out of inputs that were never read, in ms.
        follow: Whether inputs grow: one without a whole line waits.
    """

    def __init__(
        self,
        store: Store,
        formats: FormatDetection,
        *,
        since: int = 0,
        follow: bool = False,
    ) -> None:
        self._store, self._formats = store, formats
        self._since, self._follow = since, follow

    def open(self, source: Source) -> SourceTail | None:
        """Return what reads an input; None if no format fits, or nothing of it is there yet.

        Raises:
            OSError, ConfigurationError: it cannot be read.
        """
        path = source.path
        if source.parts is not None:
            return self._parts(source)
        if not stat.S_ISREG(Path(path).stat().st_mode):
            raise ConfigurationError("a pipe or a device, which can be read only once: eddy ingest - < IT")
        with Path(path).open("rb") as file:
            head = file.read(HEAD_BYTES)
        with open_input(path) as stream:
            form = self._formats.of(stream, path).form
        if form is None:
            return None
        is_log = form.kind is UnitKind.LINES and is_plain(head)
        if not is_log:
            known = self._store.called(path) or self._new(path, form, identity_of(Path(path).stat()))
            return DocumentTail(path, form, known._replace(format=form.name), self._store.new_reading)
        if self._follow and b"\n" not in head and len(head) < HEAD_BYTES:
            return None
        return self._log(path, form)

    def is_too_old(self, path: str) -> bool:
        """Tell whether an input has not changed since the time that was asked for, and was never read."""
        status = Path(path).stat()
        return status.st_mtime * 1000 < self._since and self._store.of(identity_of(status)) is None

    def rotated(self, path: str) -> LogTail | None:
        """Return what reads the rest of the log that had this name before, if it stands beside it now."""
        known = self._store.called(path)
        form = None if known is None else self._formats.named(known.format)
        if known is None or form is None or form.kind is not UnitKind.LINES or known.mark:
            return None
        try:
            if identity_of(Path(path).stat()) == known.identity:
                return None
        except OSError:
            pass  # it was renamed, and no other one has come yet
        return LogTail(path, form, known)

    def _log(self, path: str, form: Format) -> LogTail | None:
        file = opened(path)
        if file is None:
            return None
        try:
            identity = identity_of(os.fstat(file))
            for known in (self._store.of(identity), self._store.called(path)):
                if (
                    known is not None
                    and not known.mark
                    and continues(file, known.position, known.fingerprint)
                ):
                    same = self._formats.named(known.format) or form
                    return LogTail(path, same, known._replace(identity=identity))
            begun = self._new(path, form, identity)
            earlier = self._store.called(path)
            if earlier is not None and earlier.format == form.name and not earlier.mark:
                begun = begun._replace(since=earlier.since)
                if earlier.fingerprint.first != first_line(file, os.fstat(file).st_size):
                    # The log was rotated: its sessions go on, and calls that wait there are answered here.
                    begun = begun._replace(state=earlier.state)
            return LogTail(path, form, begun._replace(fingerprint=fingerprint(file, 0)))
        finally:
            os.close(file)

    def _parts(self, source: Source) -> PartsTail | None:
        identity = identity_of(Path(source.path).stat())
        known = self._store.of(identity)
        form = self._formats.named(known.format) if known is not None else None
        if known is None or form is None or form.parts != source.parts:
            form = self._formats.of_parts(parts(source))
            if form is None or form.parts != source.parts:
                return None
            known = self._new(source.path, form, identity)
        return PartsTail(source, form, known)

    def _new(self, path: str, form: Format, identity: FileIdentity) -> Checkpoint:
        nothing = Fingerprint(b"", b"")
        number = self._store.new_reading()
        return Checkpoint(identity, path, form.name, 0, "", nothing, b"", number, self._since)

"""From a path to what reads it: its format, how far it was read, and what it took over from."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Final

from streams.core.errors import ConfigurationError
from streams.formats.adapters.adapter import Format, UnitKind
from streams.formats.adapters.sniffing import sniffed_in_lines
from streams.formats.ingest.document_reader import DocumentReader
from streams.formats.ingest.file_tail import FileDigest, FilePosition, continues, first_line, place_of, proof
from streams.formats.ingest.log_reader import LogReader, opened
from streams.formats.ingest.own_formats import FormatChoice
from streams.formats.ingest.parts_reader import PartsReader, parts
from streams.formats.ingest.reader import Reader
from streams.formats.ingest.store import FileRow, Store
from streams.formats.input_file import is_plain, lines_at_the_head, open_input
from streams.formats.input_names import by_place

SNIFFED_BYTES: Final = 1 << 16


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
        formats: FormatChoice,
        *,
        since: int = 0,
        follow: bool = False,
    ) -> None:
        self._store, self._choose = store, formats.choose
        self._forms = {each.name: each for each in formats.forms}
        self._since, self._follow = since, follow

    def open(self, path: str) -> Reader | None:
        """Return what reads an input; None if no format fits, or nothing of it is there yet.

        Raises:
            OSError, ConfigurationError: it cannot be read.
        """
        mode = Path(path).stat().st_mode
        if stat.S_ISDIR(mode):
            return self._parts(path)
        if not stat.S_ISREG(mode):
            raise ConfigurationError("a pipe or a device, which can be read only once: eddy ingest - < IT")
        with Path(path).open("rb") as file:
            head = file.read(SNIFFED_BYTES)
        if packed := not is_plain(head):
            with open_input(path) as whole:
                head = whole.read(SNIFFED_BYTES)
        form = self._choose(head, path) or self._further_down(head, path)
        if form is None and head.strip() and (known := by_place(path)) is not None:
            form = self._forms.get(known)
        if form is None:
            return None
        if packed or form.kind is not UnitKind.LINES:
            row = self._store.called(path) or self._new(path, form, place_of(Path(path).stat()))
            return DocumentReader(path, form, row._replace(format=form.name), self._store.new_reading)
        if self._follow and b"\n" not in head and len(head) < SNIFFED_BYTES:
            return None
        return self._log(path, form)

    def _further_down(self, head: bytes, path: str) -> Format | None:
        """Return the format of a file whose head fits none, by a line further down."""
        if not head.lstrip().startswith(b"{"):
            return None
        with open_input(path) as again:
            found = sniffed_in_lines(lines_at_the_head(again), path)
        return None if found is None else self._forms.get(found)

    def is_too_old(self, path: str) -> bool:
        """Tell whether an input has not changed since the time that was asked for, and was never read."""
        status = Path(path).stat()
        return status.st_mtime * 1000 < self._since and self._store.at(place_of(status)) is None

    def before(self, path: str) -> LogReader | None:
        """Return what reads the rest of the log that had this name before, if it stands beside it now."""
        known = self._store.called(path)
        form = None if known is None else self._forms.get(known.format)
        if known is None or form is None or form.kind is not UnitKind.LINES or known.mark:
            return None
        try:
            if place_of(Path(path).stat()) == known.place:
                return None
        except OSError:
            pass  # it was renamed, and no other one has come yet
        return LogReader(path, form, known)

    def _log(self, path: str, form: Format) -> LogReader | None:
        file = opened(path)
        if file is None:
            return None
        try:
            place = place_of(os.fstat(file))
            for known in (self._store.at(place), self._store.called(path)):
                if known is not None and not known.mark and continues(file, known.position, known.proof):
                    same = self._forms.get(known.format) or form
                    return LogReader(path, same, known._replace(place=place))
            row = self._new(path, form, place)
            earlier = self._store.called(path)
            if earlier is not None and earlier.format == form.name and not earlier.mark:
                row = row._replace(since=earlier.since)
                if earlier.proof.first != first_line(file, os.fstat(file).st_size):
                    # The log was rotated: its sessions go on, and calls that wait there are answered here.
                    row = row._replace(state=earlier.state)
            return LogReader(path, form, row._replace(proof=proof(file, 0)))
        finally:
            os.close(file)

    def _parts(self, path: str) -> PartsReader | None:
        place = place_of(Path(path).stat())
        known = self._store.at(place)
        if (
            known is not None
            and (same := self._forms.get(known.format)) is not None
            and same.parts is not None
        ):
            return PartsReader(path, same, known)
        for each in self._forms.values():
            if names := parts(path, each):
                form = self._choose(names[0].read_bytes()[:SNIFFED_BYTES], str(names[0]))
                if form is not None:
                    return PartsReader(path, form, self._new(path, form, place))
        return None

    def _new(self, path: str, form: Format, place: FilePosition) -> FileRow:
        nothing = FileDigest(b"", b"")
        number = self._store.new_reading()
        return FileRow(place, path, form.name, 0, "", nothing, b"", number, self._since)

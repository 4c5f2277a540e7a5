"""JSON lines: one DecisionLog per line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from streams.core.entry import Entry, decode_object, session_key, undecodable

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def lines(stream: Iterable[bytes]) -> Iterator[bytes]:
    r"""The lines that hold something. Blank lines are layout, not records.

    >>> list(lines([b"\xef\xbb\xbf{}\n", b"  \r\n", b"[1]"]))
    [b'{}', b'[1]']
    """
    for number, line in enumerate(stream):
        text = (line.removeprefix(_BYTE_ORDER_MARK) if number == 0 else line).strip()
        if text:
            yield text


def read(stream: Iterable[bytes]) -> Iterator[Entry]:
    r"""One entry per line that is not blank; one whose value is None where the line is not a JSON object.

    >>> [entry.value for entry in read([b'{"session_id": "s1"}\n', b"\n", b"not json\n"])]
    [{'session_id': 's1'}, None]
    """
    for line in lines(stream):
        value = decode_object(line)
        if value is None:
            yield undecodable(line)
        else:
            yield Entry(key=session_key(value), timestamp=None, value=value, raw=line)

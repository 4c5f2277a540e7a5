"""Texts as they are sent: bounded, and such that they can be encoded. No value makes one of these raise."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import NamedTuple
from zlib import crc32

LONGEST_TEXT = 16_000
LONGEST_NAME = 1_000
_LONGEST_IN_INTENT = 60
_PATH_KEYS = (
    "file_path",
    "path",
    "filepath",
    "filename",
    "file_name",
    "notebook_path",
    "absolute_path",
)
_ONE_TEXT = re.compile(r'\{\s*"[^"\\]*"\s*:\s*"([^"\\]*)"\s*\}')
_DIGITS = 8
UNWRITABLE = "[cannot be written]"


class Text(NamedTuple):
    """A text, and whether it was cut."""

    text: str
    cut: bool = False


def bounded(value: object, longest: int = LONGEST_TEXT) -> Text:
    r"""Return a value as text: text as it is, bytes decoded, anything else as JSON.

    >>> bounded("a" * 5, 3), bounded({"q": 1}), bounded("\ud800")
    (Text(text='aaa', cut=True), Text(text='{"q":1}', cut=False), Text(text='?', cut=False))
    """
    text = _as_text(value, longest)
    return Text(_encodable(text[:longest]), len(text) > longest)


def path_in(arguments: object) -> str | None:
    """Return the file that arguments name, None if none.

    >>> path_in({"path": "a.py"}), path_in("ls")
    ('a.py', None)
    """
    if not isinstance(arguments, Mapping):
        return None
    try:
        found = [arguments.get(key) for key in _PATH_KEYS]
    except Exception:  # noqa: BLE001 - a mapping of the agent's own may raise anything
        return None
    return next((bounded(path).text for path in found if isinstance(path, str) and path), None)


def silent_intent(tool: str, arguments: str | None, path: str | None) -> str:
    """Return the intent of a step that comes without words: the tool, and what it is about.

    Whatever of the arguments is not shown is told apart by digits: normalised results keep these.

    >>> silent_intent("shell", '{"command":"ls"}', None), silent_intent("read", '{"path":"a.py"}', "a.py")
    ('shell {"command":"ls"}', 'read a.py')
    >>> silent_intent("read", '{"path":"a.py","offset":200}', "a.py")
    'read a.py #30745114'
    """
    arguments = arguments or ""
    if path is None:
        shown, is_whole = arguments[:_LONGEST_IN_INTENT], len(arguments) <= _LONGEST_IN_INTENT
    else:
        only = _ONE_TEXT.fullmatch(arguments)
        shown, is_whole = path, arguments in ("", "{}", path) or (only is not None and only[1] == path)
    return f"{tool} {shown}".rstrip() + ("" if is_whole else f" #{_digits(arguments)}")


def _digits(text: str) -> str:
    return f"{crc32(text.encode('utf-8', 'replace')) % 10**_DIGITS:0{_DIGITS}d}"


def _as_text(value: object, longest: int) -> str:
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, bytes | bytearray):
        return bytes(value[: 4 * longest + 1]).decode("utf-8", "replace")
    try:
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False, default=_represented)
    except Exception:  # noqa: BLE001 - nested too deeply, going in a circle, or keys that are no text
        return _represented(value)


def _represented(value: object) -> str:
    try:
        return repr(value)
    except Exception:  # noqa: BLE001 - an object of the agent's own may raise anything
        return UNWRITABLE


def _encodable(text: str) -> str:
    return text if text.isascii() else text.encode("utf-8", "replace").decode()

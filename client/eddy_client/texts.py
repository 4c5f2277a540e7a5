"""Texts as they are sent: bounded, and such that they can be encoded. No value makes one of these raise."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import NamedTuple

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

    >>> silent_intent("shell", '{"command":"ls"}', None), silent_intent("read", "{}", "a.py")
    ('shell {"command":"ls"}', 'read a.py')
    """
    return f"{tool} {path or (arguments or '')[:_LONGEST_IN_INTENT]}".rstrip()


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

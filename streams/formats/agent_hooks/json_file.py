"""Files of hooks in JSON: Eddy's entries added and taken out again, and all else kept. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from streams.formats.agent_hooks.program import MARK


def with_entries(text: str | None, entries: Mapping[str, Any], also: Mapping[str, Any] | None = None) -> str:
    """Return the file with one entry more for each event.

    Args:
        text: The file as it is; None if there is none.
        entries: By event, what is added to its list.
        also: Fields that the file has to have beside its hooks, if it lacks them.

    Raises:
        ValueError: the text is no JSON object of hooks, so it cannot be kept.

    >>> print(with_entries('{"model": "x"}', {"Before": {"command": "eddy guard hook it before"}}))
    {
      "model": "x",
      "hooks": {
        "Before": [
          {
            "command": "eddy guard hook it before"
          }
        ]
      }
    }
    <BLANKLINE>
    """
    document = _document(text)
    _take_out(document)
    for name, value in (also or {}).items():
        document.setdefault(name, value)
    hooks = document.setdefault("hooks", {})
    for event, entry in entries.items():
        hooks.setdefault(event, []).append(entry)
    return _text(document)


def without_entries(text: str, also: Mapping[str, Any] | None = None) -> str | None:
    """Return the file without Eddy's entries; None if nothing else is in it.

    Args:
        text: The file as it is.
        also: As for `with_entries`: a file that holds only this is left without anything.

    Raises:
        ValueError: the text is no JSON object of hooks.
    """
    document = _document(text)
    if not _take_out(document):
        return text
    return None if document == dict(also or {}) else _text(document)


def _document(text: str | None) -> dict[str, Any]:
    document = json.loads(text) if text is not None and text.strip() else {}
    if not isinstance(document, dict):
        raise ValueError("it is no object")  # noqa: TRY004 - it is data
    hooks = document.get("hooks", {})
    if not isinstance(hooks, dict) or not all(isinstance(each, list) for each in hooks.values()):
        raise ValueError("its hooks are no lists by event")
    return document


def _take_out(document: dict[str, Any]) -> bool:
    """Take out what is Eddy's, and what is empty then; tell whether there was anything."""
    hooks, found = document.get("hooks", {}), False
    for event in list(hooks):
        kept = [left for each in hooks[event] if (left := _without_ours(each)) is not None]
        if kept == hooks[event]:
            continue
        found = True
        hooks[event] = kept
        if not kept:
            del hooks[event]
    if found and not hooks:
        del document["hooks"]
    return found


def _without_ours(entry: Any) -> Any:
    """Return an entry without Eddy's commands; None if there were no others."""
    if not isinstance(entry, dict):
        return entry
    if any(
        f" {MARK} " in command
        for command in (entry.get("command"), entry.get("bash"))
        if isinstance(command, str)
    ):
        return None
    inner = entry.get("hooks")
    if not isinstance(inner, list):
        return entry
    kept = [left for each in inner if (left := _without_ours(each)) is not None]
    return entry if kept == inner else {**entry, "hooks": kept} if kept else None


def _text(document: Mapping[str, Any]) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"

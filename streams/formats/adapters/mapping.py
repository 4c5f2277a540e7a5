"""A mapping file: which column of a CSV file, or which JSON pointer, is what.

A few lines of TOML. A value that begins with a slash is a JSON pointer (RFC 6901), any other is the name of a
column.

    session_id = "/run/id"
    tool = "/tool/name"
    arguments = "/tool/input"
    result = "/tool/output"
    status = "/status"
    failure = ["error", "denied"]
"""

from __future__ import annotations

import re
import tomllib
from typing import Any, Final, NamedTuple

from streams.core.errors import ConfigurationError

FIELDS: Final[tuple[str, ...]] = (
    "session_id",
    "event_id",
    "timestamp",
    "agent_id",
    "tool",
    "arguments",
    "result",
    "status",
    "exit_code",
    "error",
    "intent",
    "goal",
    "tokens",
    "cost",
    "terminal",
)
"""What a record can take from a source."""

_WORDS: Final = {
    "failure": ("error", "errored", "fail", "failed", "failure", "timeout", "timed_out"),
    "skipped": ("skipped", "skip", "cancelled", "canceled", "rejected", "denied"),
    "terminal_words": ("true", "yes", "1"),
}
_TEXTS: Final = {"agent": "mapped", "delimiter": ","}
_WRONG_ESCAPE: Final = re.compile(r"~(?![01])")
_INDEX: Final = re.compile(r"0|[1-9][0-9]{0,8}")


class Mapping(NamedTuple):
    """What a mapping file says.

    Attributes:
        pointers: by field, the steps of its JSON pointer; of a CSV file the column as the only step.
        csv: whether the fields are columns.
        failure: the words of ``status`` that mean a failure, in lower case.
        skipped: those that mean that the call did not run.
        terminal_words: those of ``terminal`` that end the session.
        agent: the agent where no field names it.
        delimiter: character between two columns of a CSV file.
    """

    pointers: dict[str, tuple[str, ...]]
    csv: bool
    failure: frozenset[str]
    skipped: frozenset[str]
    terminal_words: frozenset[str]
    agent: str
    delimiter: str


def parse_mapping(toml_text: bytes) -> Mapping:
    """Return the mapping that a file holds.

    Raises:
        ConfigurationError: with one sentence that says what is wrong.
    """
    given = _toml(toml_text)
    for key in given:
        if key not in FIELDS and key not in _WORDS and key not in _TEXTS:
            known = ", ".join((*FIELDS, *_WORDS, *_TEXTS))
            raise ConfigurationError(f"The mapping says {key!r}, which is none of {known}.")
    places = {key: _text(key, given[key]) for key in FIELDS if key in given}
    if "session_id" not in places:
        raise ConfigurationError("The mapping does not say which column or JSON pointer is the session_id.")
    if not places.keys() & {"tool", "intent"}:
        raise ConfigurationError("The mapping says neither what is the tool nor what is the intent.")
    csv = _is_csv(places)
    texts = {key: _text(key, given.get(key, default)) for key, default in _TEXTS.items()}
    if len(texts["delimiter"]) != 1 or texts["delimiter"] in '"\r\n':
        raise ConfigurationError(
            "The delimiter of the mapping is one character that is no quote and no line end."
        )
    words = {key: _words(key, given.get(key, list(default))) for key, default in _WORDS.items()}
    return Mapping(
        {key: (place,) if csv else _steps(key, place) for key, place in places.items()},
        csv,
        words["failure"],
        words["skipped"],
        words["terminal_words"],
        texts["agent"],
        texts["delimiter"],
    )


def found_at(value: Any, steps: tuple[str, ...]) -> Any:
    """Return what a JSON pointer finds; None if it finds nothing.

    >>> found_at({"calls": [{"a/b": 7}]}, ("calls", "0", "a/b")), found_at({"a": 1}, ("a", "b"))
    (7, None)
    """
    for step in steps:
        if isinstance(value, dict):
            value = value.get(step)
        elif isinstance(value, list) and _INDEX.fullmatch(step) and int(step) < len(value):
            value = value[int(step)]
        else:
            return None
    return value


def _toml(toml_text: bytes) -> dict[str, Any]:
    try:
        return tomllib.loads(toml_text.decode())
    except UnicodeDecodeError:
        raise ConfigurationError("The mapping is not UTF-8 text.") from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ConfigurationError(f"The mapping is not TOML: {error}.") from error


def _text(key: str, value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise ConfigurationError(
            f"The mapping gives {key!r} something other than a text that holds something."
        )
    return value


def _words(key: str, value: Any) -> frozenset[str]:
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise ConfigurationError(f"The mapping gives {key!r} something other than a list of words.")
    return frozenset(each.strip().lower() for each in value)


def _is_csv(places: dict[str, str]) -> bool:
    pointers = [key for key, place in places.items() if place.startswith("/")]
    columns = [key for key in places if key not in pointers]
    if pointers and columns:
        raise ConfigurationError(
            f"The mapping mixes JSON pointers ({pointers[0]}) with columns ({columns[0]}): "
            "a pointer begins with a slash."
        )
    return not pointers


def _steps(key: str, pointer: str) -> tuple[str, ...]:
    if _WRONG_ESCAPE.search(pointer):
        raise ConfigurationError(
            f"The JSON pointer of {key!r} has a ~ that neither 0 nor 1 follows (RFC 6901)."
        )
    return tuple(step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:])

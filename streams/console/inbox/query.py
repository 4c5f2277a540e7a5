"""What an operator asks the inbox for: the parameters of the page, and the language of its search field.

Words are ``rule:R2``, ``agent:coder-*``, ``tokens>10000``, ``since:2h``, ``is:paused``; anything else is text
to find. A word that does not exist is an error that names it, never an empty list.
"""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as Base64Error
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, TypeVar

import orjson

from streams.console.inbox.terms import Term, text_term, word_term
from streams.console.read_model.attention import RANK, Class, Position, Tab
from streams.core.errors import ConfigurationError

_TOKEN: Final = re.compile(r'(?:[^\s"]|"[^"]*")+')
_PARAMETERS: Final = ("rule", "agent", "tool")
_LONGEST: Final = 1_000


class InboxSort(StrEnum):
    """By what rows of one class are sorted."""

    WASTE = "waste"
    COST = "cost"
    RATE = "rate"
    SINCE = "since"
    NEWEST = "newest"


@dataclass(frozen=True, slots=True)
class Query:
    """A question to the inbox. Equal ones have equal answers, so one is worked out for all who ask it.

    ``ranks`` are the classes that are wanted, all if there are none; ``chips`` the words of the filter.
    """

    tab: Tab = Tab.NEEDS_YOU
    ranks: frozenset[int] = frozenset()
    chips: tuple[str, ...] = ()
    sort: InboxSort = InboxSort.WASTE
    by_cause: bool = False
    after: Position | None = None
    terms: tuple[Term, ...] = field(default=(), compare=False)

    @classmethod
    def parse(cls, params: Mapping[str, str]) -> Query:
        """Read the parameters of the page; those that are not the inbox's are passed over.

        Raises:
            ConfigurationError: names the word that does not exist, and those that do.

        >>> Query.parse({"q": "rule:R2 tokens>10000 paint"}).chips
        ('rule:R2', 'tokens>10000', 'paint')
        """
        chips: list[str] = []
        terms: list[Term] = []
        given = [f"{name}:{_quoted(params[name])}" for name in _PARAMETERS if params.get(name)]
        for word in [*given, *_words(params.get("q", ""))]:
            chips.append(word)
            terms.append(word_term(word) or text_term(word))
        return cls(
            tab=_member(Tab, "state", params.get("state") or Tab.NEEDS_YOU),
            ranks=frozenset(
                RANK[_member(Class, "severity", each)]
                for each in params.get("severity", "").split(",")
                if each
            ),
            chips=tuple(chips),
            sort=_member(InboxSort, "sort", params.get("sort") or InboxSort.WASTE),
            by_cause=_grouped(params.get("group", "")),
            after=position_of(params.get("cursor", "")),
            terms=tuple(terms),
        )


def _quoted(value: str) -> str:
    return f'"{value}"' if re.search(r"\s", value) else value


def _words(text: str) -> list[str]:
    if len(text) > _LONGEST:
        raise ConfigurationError(f"The filter is longer than {_LONGEST:,} characters. Leave words out.")
    if text.count('"') % 2:
        raise ConfigurationError('The filter has a quotation mark too few. Text is quoted as "free text".')
    return _TOKEN.findall(text)


_Word = TypeVar("_Word", bound=StrEnum)


def _member(words: type[_Word], name: str, value: str) -> _Word:
    try:
        return words(value)
    except ValueError:
        known = ", ".join(words)
        raise ConfigurationError(f'Unknown {name} "{value}". Known are {known}.') from None


def _grouped(value: str) -> bool:
    if value not in {"", "cause"}:
        raise ConfigurationError(f'Unknown group "{value}". The one there is, is cause.')
    return value == "cause"


def cursor_of(position: Position) -> str:
    """Return a place in the order as an opaque word.

    >>> position_of(cursor_of((0, -1200.0, "s-17")))
    (0, -1200.0, 's-17')
    """
    return urlsafe_b64encode(orjson.dumps(position)).decode().rstrip("=")


def position_of(cursor: str) -> Position | None:
    """Read a cursor back, None if there is none.

    Raises:
        ConfigurationError: it is no cursor.
    """
    if not cursor:
        return None
    try:
        rank, value, session_id = orjson.loads(urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
        return int(rank), float(value), str(session_id)
    except (ValueError, TypeError, Base64Error):
        raise ConfigurationError("The cursor is none. Open the page without it.") from None

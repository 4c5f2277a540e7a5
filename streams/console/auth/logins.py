"""Logins: what a token, a link or a cookie makes of a person, by files that are read when they change."""

from __future__ import annotations

import hashlib
import logging
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Final

from streams.console.auth.cookie import (
    LONGEST,
    Login,
    csrf_token,
    is_csrf_token,
    mark_of,
    opened,
    sealed,
)
from streams.console.auth.identity import Identity, Rights, Role, identity_of, rights_of
from streams.console.auth.openid import Claimed, ProviderError
from streams.console.auth.policy import AccessPolicy
from streams.console.auth.tokens import Listed, Person, whose
from streams.core.errors import ConfigurationError

log = logging.getLogger(__name__)


class TokenFile:
    """The lines of a file as they are now. What is not in the file, or cannot be read, does not count.

    Args:
        path: Path of the token file.
        parse: Reads the text of the file.
        setting: Names it in messages.

    Raises:
        ConfigurationError: it cannot be read, or a line is wrong.
    """

    def __init__(self, path: Path, parse: Callable[[str], Listed], setting: str) -> None:
        self._path = path
        self._parse = parse
        self._setting = setting
        self._seen: tuple[int, int, int] | None = None
        self._listed = Listed()
        self._problem: str | None = None
        if self._read() and self._problem:
            raise ConfigurationError(f"{setting}, {path}: {self._problem}.")

    def listed(self) -> Listed:
        """Return its lines as they are now."""
        before = self._problem
        if self._read() and self._problem and self._problem != before:
            log.warning("%s: %s. What cannot be read does not count", self._setting, self._problem)
        return self._listed

    def _read(self) -> bool:
        """Read the file if it has changed; tell whether it has, or cannot be read."""
        try:
            stat = self._path.stat()
            seen = (stat.st_mtime_ns, stat.st_size, stat.st_ino)
            if seen == self._seen:
                return False
            self._listed = self._parse(self._path.read_text(encoding="utf-8"))
            self._seen, self._problem = seen, "; ".join(self._listed.wrong) or None
        except (OSError, UnicodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
            self._seen, self._listed, self._problem = None, Listed(), f"it cannot be read ({reason})"
        return True


LOCAL: Final = "local"
"""The name of a person who logged in by a link."""


class Logins:
    """Begins logins, recognises them, and ends them.

    A login is in its cookie and nowhere else, so every instance with the same key knows it. It ends with its
    time, with its line in the file of tokens, or when the person logs out: the last is known to this
    instance alone.

    Args:
        policy: Rules that the operator has set.
        key: Key that cookies are signed with.
        people: The file of tokens; None if not set.
        provider: What tells the provider of logins from another; empty if people log in at none.
    """

    def __init__(
        self, policy: AccessPolicy, key: bytes, people: TokenFile | None, provider: str = ""
    ) -> None:
        self._policy = policy
        self._key = key
        self._people = people
        self._provider = mark_of(f"openid {provider}".encode(), key) if provider else None
        self._links: set[bytes] = set()
        #: Logins that were ended before their time, and when they would have ended.
        self._ended: dict[str, int] = {}

    def link_token(self) -> str:
        """Return a token that logs one person in, once."""
        token = secrets.token_urlsafe(32)
        self._links.add(_digest(token))
        return token

    def begun(self, token: str, now: int) -> tuple[Identity, str] | None:
        """Take a token; return who that is, and the value of their cookie; None if it is not known.

        Args:
            token: As the person sent it.
            now: Time of the call, in milliseconds since 1970.
        """
        session, until = secrets.token_hex(16), now + self._policy.login_ms
        if self._policy.by_link and _digest(token) in self._links:
            self._links.discard(_digest(token))
            login, rights, via = Login(LOCAL, "", session, until), Rights(Role.OPERATOR), "link"
        else:
            person = whose(token, self._people.listed().people) if self._people is not None else None
            if person is None:
                return None
            login = Login(person.name, mark_of(person.digest, self._key), session, until)
            rights, via = _rights(person), "token"
        return self._identity(login, rights)._replace(via=via), sealed(login, self._key)

    def begun_by(self, claimed: Claimed, now: int) -> tuple[Identity, str] | None:
        """Take whom the provider names; return who that is, and their cookie; None if they may not look.

        Args:
            claimed: Whom the provider names.
            now: Time of the call, in milliseconds since 1970.

        Raises:
            ProviderError: the person is in more groups of the settings than a cookie can hold.
        """
        rights = rights_of(self._policy, claimed.groups)
        if rights is None or self._provider is None:
            return None
        named = {grant.group for grant in (*self._policy.operator_groups, *self._policy.viewer_groups)}
        groups = tuple(sorted(claimed.groups & named))
        login = Login(
            claimed.name, self._provider, secrets.token_hex(16), now + self._policy.login_ms, groups
        )
        value = sealed(login, self._key)
        if len(value) > LONGEST:
            raise ProviderError(
                f"You are in {len(groups)} groups that the console's settings name: too many for a cookie."
            )
        return self._identity(login, rights), value

    def who(self, cookie: str | None, now: int) -> Identity | None:
        """Return who has a cookie; None if it is not one, has ended, or its token counts no more."""
        login = opened(cookie, self._key, now) if cookie else None
        if login is None or login.session in self._ended:
            return None
        rights = self._rights(login)
        return None if rights is None else self._identity(login, rights)

    def end(self, cookie: str | None, now: int) -> None:
        """End a login: this instance takes its cookie no more, wherever it was copied to."""
        self._ended = {session: until for session, until in self._ended.items() if until > now}
        if login := opened(cookie, self._key, now) if cookie else None:
            self._ended[login.session] = login.until

    def csrf(self, who: Identity, now: int) -> str:
        """Return what each form of a person's page holds."""
        return csrf_token(who.binding, self._key, now)

    def has_csrf(self, token: str, who: Identity, now: int) -> bool:
        """Tell whether a form was made for this login."""
        return is_csrf_token(token, who.binding, self._key, now)

    def _rights(self, login: Login) -> Rights | None:
        if not login.mark:
            return Rights(Role.OPERATOR) if self._policy.by_link else None
        if login.mark == self._provider:
            return rights_of(self._policy, login.groups)
        for person in self._people.listed().people if self._people is not None else ():
            if person.name == login.name and mark_of(person.digest, self._key) == login.mark:
                return _rights(person)
        return None

    def _identity(self, login: Login, rights: Rights) -> Identity:
        via = "openid" if login.mark == self._provider else "cookie"
        return identity_of(self._policy, login.name, rights, via, binding=f"login {login.session}")


def _rights(person: Person) -> Rights:
    agents = None if person.agents is None else (person.agents,)
    return Rights(person.role, agents, agents)


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()

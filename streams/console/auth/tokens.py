"""The files that say who has which token: only digests of the tokens stand there."""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Iterable
from typing import Final, NamedTuple, TypeVar

from streams.console.auth.identity import Role
from streams.core.domain.text.glob import Globs, are_affordable

_DIGEST: Final = re.compile(r"[0-9a-fA-F]{64}")
_LONGEST_NAME: Final = 100
_WRONG_PATTERN: Final = "the pattern of agent_id is missing or too long"


class Person(NamedTuple):
    """A person who may log in.

    Attributes:
        name: for people and for the audit.
        role: Role of the person, viewer or operator.
        digest: SHA-256 of the token.
        agents: pattern of the `agent_id` whose sessions they may see and act on; None for every agent.
    """

    name: str
    role: Role
    digest: bytes
    agents: str | None = None


class AgentToken(NamedTuple):
    """A program that may hear commands over HTTP.

    Attributes:
        name: for people and for the audit.
        agents: pattern of the `agent_id` whose sessions it may attach.
        digest: SHA-256 of the token.
    """

    name: str
    agents: str
    digest: bytes

    def may_be(self, agent_id: str) -> bool:
        """Tell whether it may attach sessions of an agent."""
        return Globs((self.agents,)).match(agent_id)


T = TypeVar("T", Person, AgentToken)


class Listed(NamedTuple):
    """The lines of a file of tokens.

    Attributes:
        people: those that can be read.
        agents: those that can be read.
        wrong: number of each line that cannot be read, and why. Never the line: it may hold a token.
    """

    people: tuple[Person, ...] = ()
    agents: tuple[AgentToken, ...] = ()
    wrong: tuple[str, ...] = ()


def people_of(text: str) -> Listed:
    """Read lines ``name:role:sha256``, or ``name:role:agent_id pattern:sha256``.

    Empty ones and those that begin with ``#`` do not count. The pattern may hold colons.

    >>> people_of("ana:operator:" + 64 * "0").people[0].name, people_of("ana:root:" + 64 * "0").wrong
    ('ana', ('line 1: the role must be viewer or operator',))
    >>> people_of("ana:operator:team:*:" + 64 * "0").people[0].agents
    'team:*'
    """
    people: list[Person] = []
    wrong = []
    for number, line in _lines(text):
        name, _, rest = line.partition(":")
        before, _, digest = rest.rpartition(":")
        role, limited, agents = before.partition(":")
        why = _problem(name, digest)
        if why is None and role not in (Role.VIEWER, Role.OPERATOR):
            why = "the role must be viewer or operator"
        if why is None and limited and (not agents or not are_affordable((agents,))):
            why = _WRONG_PATTERN
        if why is None:
            people.append(Person(name, Role(role), bytes.fromhex(digest), agents if limited else None))
        else:
            wrong.append(f"line {number}: {why}")
    return Listed(people=tuple(people), wrong=tuple(wrong))


def agents_of(text: str) -> Listed:
    """Read lines ``name:agent_id pattern:sha256``. The pattern may hold colons.

    >>> agents_of("ci:team:coder-*:" + 64 * "0").agents[0].may_be("team:coder-7")
    True
    """
    agents: list[AgentToken] = []
    wrong = []
    for number, line in _lines(text):
        name, _, rest = line.partition(":")
        pattern, _, digest = rest.rpartition(":")
        why = _problem(name, digest)
        if why is None and (not pattern or not are_affordable((pattern,))):
            why = _WRONG_PATTERN
        if why is None:
            agents.append(AgentToken(name, pattern, bytes.fromhex(digest)))
        else:
            wrong.append(f"line {number}: {why}")
    return Listed(agents=tuple(agents), wrong=tuple(wrong))


def whose(token: str, holders: Iterable[T]) -> T | None:
    """Return who has a token. It takes as long for one that is nearly right as for any other.

    >>> whose("secret", [Person("ana", Role.VIEWER, hashlib.sha256(b"secret").digest())]).name
    'ana'
    """
    digest = hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
    found = [holder for holder in holders if hmac.compare_digest(holder.digest, digest)]
    return found[0] if found else None


def _lines(text: str) -> Iterable[tuple[int, str]]:
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if stripped and not stripped.startswith("#"):
            yield number, stripped


def _problem(name: str, digest: str) -> str | None:
    if not 0 < len(name) <= _LONGEST_NAME or not name.isprintable():
        return f"the name must have 1 to {_LONGEST_NAME} printable characters"
    if not _DIGEST.fullmatch(digest):
        return "it must end with the SHA-256 of the token, 64 hexadecimal digits"
    return None

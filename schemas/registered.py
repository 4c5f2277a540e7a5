"""Where a schema registry is, and what it holds: values, without the HTTP client that asks it."""

from __future__ import annotations

from dataclasses import dataclass, field

from yarl import URL


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistryAddress:
    """Where the registry is and how to get in.

    A user and password in the URL are used as well. ``ca_file`` is a PEM file with the authority that
    signed the registry's certificate, None for those the system trusts. ``timeout_s`` bounds one
    request, ``attempts`` and ``give_up_after_s`` all attempts of one.
    """

    url: str = field(repr=False)
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    ca_file: str | None = None
    timeout_s: float = 10.0
    attempts: int = 8
    give_up_after_s: float = 45.0

    def shown(self) -> str:
        """Return the URL without credentials, for messages.

        >>> RegistryAddress(url="https://me:secret@registry:8081/x").shown()
        'https://registry:8081/x'
        """
        return str(URL(self.url).with_user(None))


@dataclass(frozen=True, slots=True)
class RegisteredSchema:
    """A schema as the registry keeps it: ``kind`` is AVRO, JSON or PROTOBUF, ``text`` its source."""

    kind: str
    text: str
    has_references: bool = False


@dataclass(frozen=True, slots=True)
class AbsentSchema:
    """There is no such schema for us; ``why`` completes "schema 7 ..."."""

    why: str

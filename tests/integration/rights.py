"""What the brokers let a worker do, and who is let do everything (KRaft's own authorizer)."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from typing import Any, NamedTuple

from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.protocol.admin import CreateAclsRequest

#: Broker properties: nobody may do anything without an ACL, but for whoever comes without a login.
AUTHORIZED = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}

_LITERAL, _PREFIXED, _ALLOW = 3, 4, 3


class Kind(IntEnum):
    """The kind of a resource, as the protocol numbers them."""

    TOPIC = 2
    GROUP = 3
    TRANSACTIONAL_ID = 5


class Operation(IntEnum):
    """As the protocol numbers them."""

    READ = 3
    WRITE = 4
    DESCRIBE = 8
    DESCRIBE_CONFIGS = 10


class Right(NamedTuple):
    """Leave to do something with a resource, or with all whose names begin so."""

    kind: Kind
    name: str
    operation: Operation
    prefixed: bool = False


async def grant(bootstrap: str, user: str, rights: Iterable[Right]) -> None:
    """Let a user do this, as one who may do everything."""
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    try:
        for kind, name, operation, prefixed in rights:
            pattern = _PREFIXED if prefixed else _LITERAL
            request = CreateAclsRequest(kind, name, pattern, f"User:{user}", "*", operation, _ALLOW)
            answer: Any = await admin._send_request(request)
            assert [code for code, _ in answer.creation_responses] == [0], answer
    finally:
        await admin.close()

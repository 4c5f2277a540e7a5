"""A member of a group that cannot become one."""

import pytest

from streams.core.errors import InfrastructureError
from streams.kafka.connection import Connection
from streams.kafka.group_reader import group_reader
from tests.ports import own_port


async def test_brokers_that_are_away_are_an_error_that_says_what_to_do() -> None:
    nobody = Connection(f"127.0.0.1:{own_port()}")
    with pytest.raises(InfrastructureError, match=r"do not tell who coordinates eddy-notify: .* Check that"):
        async with group_reader(nobody, "eddy-notify", "session-alerts", lambda _: None, session_timeout_s=6):
            pass

"""The connection below aiokafka's admin client, which itself sends only the requests that it knows."""

from __future__ import annotations

from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.client import AIOKafkaClient


def admin_client(admin: AIOKafkaAdminClient) -> AIOKafkaClient:
    """Return the client that a started admin client sends its requests with."""
    return admin._client

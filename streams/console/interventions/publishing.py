"""Publishing a version of the policy: based on what the brokers hold, and sure to be the one that counts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from streams.console.interventions.versions import in_force, policy_versions
from streams.console.read_model.rows import VersionRow
from streams.core.domain.topic import Topic
from streams.core.errors import ConflictError
from streams.core.policy.intervention import Policy
from streams.core.settings_document import follows
from streams.kafka.client import Brokers, Stored
from streams.operate.explain.settings_topic import records, write


async def held(brokers: Brokers) -> Policy:
    """Return the policy in force by what the brokers hold now: the console's own fold may lag behind."""
    return _in_force(await records(brokers, Topic.INTERVENTION_POLICY))


async def publish(brokers: Brokers, document: Mapping[str, Any]) -> int:
    """Write the document, make sure that it is the one that counts, and return its offset.

    Raises:
        ConflictError: another document of the same version, or a later one, came first.
    """
    offset = await write(brokers, Topic.INTERVENTION_POLICY, document)
    stored = await records(brokers, Topic.INTERVENTION_POLICY)
    before = _in_force(each for each in stored if each.offset < offset).version
    if not follows(document["version"], before):
        raise ConflictError(
            f"Another user published version {before} at the same moment, so yours does not count. "
            "Load the page again, and publish it once more."
        )
    return offset


def _in_force(stored: Iterable[Stored]) -> Policy:
    return in_force(policy_versions(map(_row, stored)))


def _row(stored: Stored) -> VersionRow:
    body = None if stored.value is None else stored.value.decode("utf-8", "replace")
    topic = str(Topic.INTERVENTION_POLICY)
    return VersionRow(topic, stored.offset, stored.timestamp, 0, None, None, None, body)

"""Faust's partition assignor, without the map of who has what that each member would carry.

Faust gives every member the whole assignment of the group, so that web requests find the worker that has a
key. Members send it back, all of them, when they join again: members times partitions, uncompressed. The
broker keeps what they send in one record, and refuses the group if that is larger than `message.max.bytes`,
1 MiB by default: with 512 partitions, from 64 workers on. Nothing here asks for the map.
"""

from __future__ import annotations

from faust.assignor.partition_assignor import PartitionAssignor
from faust.types.assignor import HostToPartitionMap


class LeanAssignor(PartitionAssignor):
    """Assigns as Faust does. Members remember their own partitions, and keep those for that.

    Workers with Faust's own assignor may be in the same group: whoever leads it decides what is in the map,
    and an empty one is as good.
    """

    def _get_changelog_distribution(self, assignments: object) -> HostToPartitionMap:  # noqa: ARG002
        return {}

    def _get_external_topic_distribution(self, assignments: object) -> HostToPartitionMap:  # noqa: ARG002
        return {}

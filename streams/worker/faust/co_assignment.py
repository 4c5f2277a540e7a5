"""Source partitions come with their state, or not at all.

Faust's assignor gives topics with the same number of partitions out together, by what the worker that leads
the group knows of the topics at that moment. A topic it knows nothing of, since it asked a broker that has
just started, is left out without a word; one that has another number is given out by itself. A worker would
then process partitions whose changelog it has not restored, and overwrite their sessions with new ones.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from faust.types import TP

from streams.core.errors import InfrastructureError


def check_co_assigned(
    assigned: Collection[TP], active: Collection[TP], changelogs: Mapping[str, str]
) -> None:
    """Refuse source partitions whose changelog did not come with them.

    Args:
        assigned: The partitions of a new assignment.
        active: Those of changelogs among them that are to be restored for the worker itself.
        changelogs: By source, the topic that holds its state.

    Raises:
        InfrastructureError: says which, and what to do.
    """
    for tp in sorted(assigned):
        changelog = changelogs.get(tp.topic)
        if changelog is not None and TP(changelog, tp.partition) not in active:
            raise InfrastructureError(
                f"{tp.topic}[{tp.partition}] was assigned without {changelog}[{tp.partition}], which holds "
                "its state: the worker that shared the partitions out did not see both topics with the same "
                "number of partitions. Where a broker had just started, a restart is enough; where somebody "
                f"has added partitions to {tp.topic}, the restart says what to do."
            )

"""Everything that is known of one session between two records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from streams.core.domain.level import NodeState

STATE_VERSION = 2
#: Versions of the format that are read.
READ_VERSIONS = (1, STATE_VERSION)


class DamagedSessionError(Exception):
    """The stored state of a session is not one that any version of Eddy has written.

    What a state must be is known to each detector, and shows when a record needs it.
    """

    def __init__(self, session_id: str, problem: Exception) -> None:
        super().__init__(f"the state of session {session_id!r} is damaged ({problem!r})")
        self.session_id = session_id


#: What goes wrong in code that is right, over values that are not.
DAMAGE = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


class Session(NamedTuple):
    """The state of one session: immutable, one to four thousand bytes when stored.

    Attributes:
        partition, offset: the position of the last applied record. One at or below it on the same partition
            is a duplicate (specification 2.4).
        node: what the topology shows. `IDLE` means that the session ended: what remains is a stub that still
            identifies duplicates, and may be removed once the committed offset has passed it (specification
            2.6).
        latest: the greatest timestamp seen, ms (specification 2.5).
        step: number of records scored by layer A (specification 2.7).
        event_id, agent_id, timestamp: of the last applied record, texts bounded, ms. An event that belongs to
            no new record carries them.
        states: name of a detector to its state, a NamedTuple of JSON-able values; or to the list it was
            stored as, until a record needs it.
        shadow: the state under the shadow settings, at the same position and without a shadow of its own;
            None as long as it is no different from this one, or nothing is tried out.
    """

    partition: int
    offset: int
    node: NodeState = NodeState.IDLE
    latest: int = 0
    step: int = 0
    event_id: str = ""
    agent_id: str = ""
    timestamp: int = 0
    states: Mapping[str, Sequence[Any]] = {}
    shadow: Session | None = None

    @property
    def ended(self) -> bool:
        """Whether this is the stub of an ended session.

        >>> Session(partition=0, offset=7).ended
        True
        """
        return self.node is NodeState.IDLE

    def has_applied(self, partition: int, offset: int) -> bool:
        """Tell whether the record at this position was applied already.

        >>> stub = Session(partition=0, offset=7)
        >>> stub.has_applied(0, 7), stub.has_applied(0, 8), stub.has_applied(1, 3)
        (True, False, False)
        """
        return partition == self.partition and offset <= self.offset

    def snapshot(self) -> list[Any]:
        """Return the session as a JSON-able list whose first item is the version of its format.

        A shadow comes last, as a snapshot of its own. Versions before there were shadows wrote none.
        """
        partition, offset, node, *facts, states, shadow = self
        beside = [] if shadow is None else [shadow.snapshot()]
        if self.ended:
            return [STATE_VERSION, partition, offset, *beside]
        stored = {name: [*state] for name, state in states.items()}
        return [STATE_VERSION, partition, offset, str(node), *facts, stored, *beside]

    @classmethod
    def restore(cls, snapshot: list[Any]) -> Session:
        """Read back what `snapshot` wrote.

        The states of the detectors stay as they were stored until the first record that needs them. A
        detector without a stored state starts fresh; the state of one that is no longer known is dropped
        with the next record.

        Raises:
            ValueError: the snapshot is of another format version, or is not a snapshot.

        >>> Session.restore([3, 0, 7])
        Traceback (most recent call last):
        ValueError: session state has format version 3, this program reads versions 1 and 2
        """
        match snapshot:
            case [*own, [*shadow]]:
                return cls.restore(own)._replace(shadow=cls.restore(shadow))
            case [1 | 2, int(partition), int(offset)]:
                return cls(partition, offset)
            case [
                1 | 2,
                int(partition),
                int(offset),
                str(node),
                latest,
                step,
                event_id,
                agent_id,
                timestamp,
                states,
            ]:
                return cls(
                    partition, offset, NodeState(node), latest, step, event_id, agent_id, timestamp, states
                )
            case [version, *_] if version not in READ_VERSIONS:
                raise ValueError(
                    f"session state has format version {version}, "
                    f"this program reads versions {' and '.join(map(str, READ_VERSIONS))}"
                )
            case _:
                raise ValueError("not the snapshot of a session")

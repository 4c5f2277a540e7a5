"""Which records of a session came before, under another offset: a producer has sent them again. Pure.

A producer that is killed between sending and remembering sends again, and a client without idempotence may,
too. Such a record has the id, the time and the content of one of the newest records of its session.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from hashlib import blake2b
from typing import Any, Final, NamedTuple

from streams.core.domain.decision import Decision

REMEMBERED: Final = 32
"""Records of a session that are remembered, the newest ones."""

RECENT: Final = "recent"
"""The name under which they are kept among the states of a session."""

_BYTES: Final = 6
_LETTERS: Final = 8


class Recent(NamedTuple):
    """The newest records of a session, as one text of `_LETTERS` for each, the newest last."""

    digests: str = ""

    def has(self, digest: str) -> bool:
        """Tell whether a record is one of them.

        >>> Recent("AAAAAAABBBBBBBBB").has("AAABBBBB"), Recent("AAAAAAABBBBBBBBB").has("BBBBBBBB")
        (False, True)
        """
        at = self.digests.find(digest)
        while at >= 0 and at % _LETTERS:
            at = self.digests.find(digest, at + 1)
        return at >= 0

    def with_one_more(self, digest: str) -> Recent:
        """Return them with one more record, without the oldest of too many."""
        return Recent((self.digests + digest)[-_LETTERS * REMEMBERED :])


def recent_of(state: Sequence[Any] | None) -> Recent:
    """Return what a session remembers, from its state: as it was left, or as it was stored."""
    return state if isinstance(state, Recent) else Recent(*(state or ()))


def digest_of(decision: Decision) -> str:
    """Return the digest of what a record says: its id and time, and everything that it is judged by.

    Two records with one id and one time that differ in nothing but what `streams.core.domain.text` normalises
    away are one event.
    """
    delta = decision.state_delta
    said = (
        f"{decision.event_id}\0{decision.timestamp}\0{decision.signature}\0{decision.intent}\0{decision.kind}\0"
        f"{decision.tokens_used}\0{decision.progress_delta}\0{decision.cumulative_cost}\0"
        f"{decision.content_hash}\0{decision.target}\0{decision.is_terminal}\0{delta.get('context_quality')}"
    )
    return b64encode(blake2b(said.encode(), digest_size=_BYTES).digest()).decode()

"""Trajectories of SWE-agent, ``*.traj``: command lines with what came of them, without ids, times or flags.

The first word of a command line is the tool. Step n stands at second n of a made-up clock. A trajectory says
nothing of failures, and its file is the session.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from streams.formats.adapters.adapter import CERTAIN, NO, Format, UnitKind
from streams.formats.adapters.conversation import EPOCH_MS, Conversation
from streams.formats.adapters.document import DocumentAdapter, DocumentValue, session_of
from streams.formats.adapters.heads import head_values
from streams.formats.adapters.log import Found
from streams.formats.adapters.record import AgentStep, block_text, text_or_none

NAME: Final = "swe-agent"
# The file of a command that opens one: `open "src/a.py" 10`.
_FILE: Final = re.compile(
    r"""(?:open|cat|create|view)\s+(?P<quote>["']?)(?P<path>[^\s"'|;&<>-][^\s"'|;&<>]*)(?P=quote)"""
)


class SweAgent(DocumentAdapter):
    """Reads one trajectory."""

    def read(self, parts: Iterator[DocumentValue]) -> Found:
        """Yield what one trajectory says."""
        for part in parts:
            value = part.value
            if not isinstance(value, dict) or not isinstance(value.get("trajectory"), list):
                yield self.unknown(self.name, "no trajectory: no steps")
                continue
            session_id = session_of(self.name) + ("" if part.number is None else f"/{part.number}")
            conversation = Conversation(session_id, NAME, NAME)
            for index, step in enumerate(value["trajectory"]):
                yield from self._step(conversation, step, index)

    def _step(self, conversation: Conversation, step: Any, index: int) -> Found:
        event_id, at = f"{conversation.session_id}/{index}", EPOCH_MS + 1000 * index
        action = step.get("action") if isinstance(step, dict) else None
        if not isinstance(action, str):
            yield self.unknown(conversation.session_id, f"step {index} without an action")
            return
        conversation.say(text_or_none(step.get("thought")))
        command = action.strip()
        if not command:
            yield from conversation.finish(event_id, at)
            return
        words, conversation.words = conversation.words, None
        path = _FILE.match(command)
        yield conversation.entry(
            AgentStep(
                event_id=event_id,
                at=at,
                tool=command.split(None, 1)[0],
                arguments=command,
                output=block_text(step.get("observation")),
                words=words,
                target=path["path"] if path is not None else None,
            )
        )


def sniff(head: bytes, name: str) -> int:
    """Recognise a trajectory by its steps; the head of a long one does not reach the ``info`` at its end."""
    for value in head_values(head):
        steps = value.get("trajectory") if isinstance(value, dict) else None
        if not isinstance(steps, list) or "trajectory_format" in value:
            continue
        begun = any(isinstance(step, dict) and {"action", "observation"} <= step.keys() for step in steps)
        if begun or "info" in value or name.endswith(".traj"):
            return CERTAIN
    return NO


FORMAT: Final = Format(NAME, UnitKind.DOCUMENT, sniff, SweAgent, SweAgent.resume)

"""The control loop: whether commands to agents are signed."""

from __future__ import annotations

from streams.control.signature import key_id
from streams.operate.doctor.check import Check, ok, warn


def signing_check(key: bytes | None, commands: int) -> Check:
    """Return whether commands from here are signed.

    Args:
        key: `EDDY_COMMAND_KEY`.
        commands: How many records `session-commands` holds: without any, nobody uses the control loop yet.
    """
    name = "commands"
    if key is not None:
        return ok(name, f"signed with the key {key_id(key)} from here; {commands:,} are held")
    if not commands:
        return ok(name, "none is held; EDDY_COMMAND_KEY is not set, so they would not be signed")
    said = f"{commands:,} are held, and EDDY_COMMAND_KEY is not set here: commands from here are not signed"
    advice = "Set it to the key of the guards, or see to it that few may write to session-commands."
    return warn(name, said, advice)

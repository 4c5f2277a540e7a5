"""The same command failing in the same way, again and again (specification 5.3, test_fail_loop)."""

from __future__ import annotations

from streams.core.detectors.patterns.state import ActionKind, PatternsState

SENTENCE = "the same command failed again, with the same error"
_COMMAND, _FAILED_COMMAND = ActionKind.COMMAND.value, ActionKind.FAILED_COMMAND.value


def is_fail_loop(state: PatternsState, theta: int) -> bool:
    """Tell whether the newest record is a failed command, and the last ``theta`` of the window failed alike.

    What is no command may stand between them; any other command, or the same one succeeding, may not.

    >>> is_fail_loop(PatternsState("f.ff", failure="59ab", failures=3), theta=3)
    True
    >>> is_fail_loop(PatternsState("ff", failure="59ab", failures=3), theta=3)
    False
    """
    kinds = state.kinds
    if kinds[-1] != _FAILED_COMMAND or state.failures < theta:
        return False
    # The commands that failed alike are the newest ones, so those in the window are among them.
    return kinds.count(_FAILED_COMMAND) + kinds.count(_COMMAND) >= theta

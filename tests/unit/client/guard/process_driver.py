"""Runs a program under a session whose level is told on standard input, and says when it was in effect."""

from __future__ import annotations

import sys
import threading
from typing import Any, cast

from eddy_client.guard.control import State
from eddy_client.guard.guard import GuardedSession
from eddy_client.integrations.process import descendants, run


def say(*words: str) -> None:
    sys.stdout.write(" ".join(words) + "\n")
    sys.stdout.flush()


class ToldSession:
    """A session whose operator writes `running`, `paused` or `aborted`."""

    session_id = "s"
    integration = ""

    def __init__(self) -> None:
        self.level, self.said = "running", ""

    def check(self, *, notes: bool) -> None:
        assert not notes

    def peek(self) -> State:
        return State(self.level, 0, None, 0.0)

    def hold(self, *, level: str) -> None:
        if level == self.level != self.said:
            self.said = level
            say(self.level, *[each.state for each in descendants()])

    def listen(self) -> None:
        for line in sys.stdin:
            self.level = line.strip()


def main(*command: str) -> None:
    session: Any = ToldSession()
    threading.Thread(target=session.listen, daemon=True).start()
    status = run(command, cast("GuardedSession", session), grace=0.5)
    say("status", str(status), str(len(descendants())))


if __name__ == "__main__":
    main(*sys.argv[1:])

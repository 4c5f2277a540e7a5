"""What ties a worker to its supervisor: the worker ends when the supervisor is gone, however that ended."""

from __future__ import annotations

import os
import threading

#: The supervisor holds the writing end of this pipe and never writes. The kernel closes it with the
#: supervisor, SIGKILL included. (Linux's PR_SET_PDEATHSIG does the same only there, and also fires when the
#: thread ends that started the worker.)
_PIPE = 0

#: As after SIGKILL. Nobody is left to read it.
_STATUS = 137


def tie() -> None:
    """Watch the pipe on standard input, and end this process at once when it closes.

    A worker that drained instead would hold its directory and its port for a while, and the supervisor's
    successor would be refused. Nothing is lost: a worker may be killed at any time.
    """
    threading.Thread(target=_watch, name="tether", daemon=True).start()


def _watch() -> None:
    while os.read(_PIPE, 64):
        pass
    os._exit(_STATUS)

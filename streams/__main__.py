"""The program `eddy`, also ``python -m streams``."""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType


def main() -> None:
    """Run the command line.

    A hook is waited for by an agent, so it does not wait for the imports of all commands.

    A worker that gets a signal to stop before it has begun exits with 0. Its imports alone take a second, and
    Python's own answer to SIGTERM reads like a crash.

    Without its global lock (free-threaded, PEP 703) Python does not run Eddy: the libraries that hold state
    and decode records were not built for it, and what they would lose nobody would see.
    """
    if not getattr(sys, "_is_gil_enabled", lambda: True)():
        sys.exit(
            "eddy: This Python runs without its global lock (free-threaded), and the libraries that Eddy "
            "stores and decodes with are not made for that. Set PYTHON_GIL=1, or take an ordinary Python."
        )
    if sys.argv[1:] == ["hook"] and not sys.stdin.isatty():
        from streams.formats.hook import main as hook  # noqa: PLC0415 - a few standard modules

        hook()
    if sys.argv[1:3] == ["guard", "hook"] and (sys.stdin is None or not sys.stdin.isatty()):
        from streams.formats.agent_hooks.asking import main as ask  # noqa: PLC0415 - a few standard modules

        ask(sys.argv[3:])
    if sys.argv[1:2] in (["worker"], ["bridge"], ["notify"]):
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, _leave)
    from streams.cli import main as eddy  # noqa: PLC0415 - after the handlers
    from streams.observe.client_errors import fold_without_a_log  # noqa: PLC0415

    fold_without_a_log()
    eddy()


def _leave(_signal: int, _frame: FrameType | None) -> None:
    # At once: the worker holds nothing yet, and an exception could be lost in whatever runs now.
    os.write(2, b"eddy: Told to stop during the start. Nothing was begun.\n")
    os._exit(0)


if __name__ == "__main__":
    main()

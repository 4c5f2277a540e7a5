"""Running an app until it is stopped: what `eddy worker` and `eddy bridge` share."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from streams.core.errors import EddyError
from streams.worker.app import RunApp
from streams.worker.faust.shutdown import StoppableWorker, stopped
from streams.worker.garbage import collect_rarely
from streams.worker.options import EngineOptions
from streams.worker.preflight import check_producer, check_topics


def run(build: Callable[[], RunApp], options: EngineOptions, log_level: str) -> None:
    """Run an app until a signal stops it or something fails.

    Args:
        build: Makes the app from its settings.
        options: Options of the command line.
        log_level: The level of the log.

    Raises:
        EddyError: what ended it, with what to do.
    """
    # Said here, a problem is a sentence and an exit status; said from inside Faust, it is a stack trace.
    asyncio.run(_check(options))
    app = build()
    app.finalize()
    collect_rarely()
    try:
        StoppableWorker(app, log_level).execute_from_commandline()
    except (SystemExit, asyncio.CancelledError) as ended:
        # mode exits with 1 whatever it was, or as a service did that was cancelled because of it; what it was
        # tells an orchestrator more.
        for cause in (app.crash_reason, ended.__context__):
            if isinstance(cause, EddyError):
                raise cause from None
        if isinstance(ended, SystemExit) and not ended.code:
            stopped()
        raise


async def _check(options: EngineOptions) -> None:
    await check_topics(options)
    await check_producer(options)

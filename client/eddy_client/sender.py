"""The thread that sends."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable

from eddy_client.backlog import Backlog, PendingRecord
from eddy_client.transport import Transport

_POLL_S, _SHORT_S, _PAUSE_S = 0.2, 0.05, 1.0


class Sender:
    """Sends what a backlog holds, in its order, from a daemon thread of its own.

    Args:
        backlog: Where records wait.
        new_transport: Makes the way out, in the thread.
        log: Told what fails.
    """

    def __init__(self, backlog: Backlog, new_transport: Callable[[], Transport], log: logging.Logger) -> None:
        self._backlog = backlog
        self._new_transport = new_transport
        self._log = log
        self.sent = 0
        self.failed = 0
        self._deadline: float | None = None
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="eddy-client", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def close(self, timeout: float) -> None:
        """Send what waits, for so many seconds at most, and end the thread."""
        self._deadline = time.monotonic() + timeout
        self._stopping.set()
        self._backlog.arrived.set()
        if self._thread.is_alive():
            self._thread.join(timeout + _POLL_S)

    def _run(self) -> None:
        transport: Transport | None = None
        while not self._is_over():
            transport = transport or self._opened()
            if transport is not None:
                self._step(transport)
        if transport is not None:
            try:
                transport.close(self._left())
            except Exception as error:  # noqa: BLE001 - the agent must end, whatever it is
                self._log.warning("The end of sending failed: %r", error)
        self.failed += self._backlog.clear()

    def _opened(self) -> Transport | None:
        try:
            return self._new_transport()
        except Exception as error:  # noqa: BLE001 - the agent must go on, whatever it is
            self._told(error)
            self._stopping.wait(_PAUSE_S)
            return None

    def _step(self, transport: Transport) -> None:
        """Send the oldest record, or wait for one."""
        waiting = self._backlog.take()
        if waiting is None:
            transport.work(0)
            self._backlog.arrived.wait(_POLL_S)
            return
        try:
            value = json.dumps(waiting.record, separators=(",", ":"), ensure_ascii=False).encode()
            taken = transport.send(waiting.session_id.encode(), value, lambda ok: self._settled(waiting, ok))
        except Exception as error:  # noqa: BLE001 - this record is refused, the next may not be
            self._told(error)
            self._backlog.lost(waiting)
            self._backlog.done()
            self.failed += 1
            return
        if taken:
            self._backlog.done()
        else:
            transport.work(_SHORT_S)
            self._stopping.wait(min(_SHORT_S, self._left()))

    def _settled(self, waiting: PendingRecord, ok: bool) -> None:
        if ok:
            self.sent += 1
        else:
            self.failed += 1
            self._backlog.lost(waiting)

    def _told(self, error: Exception) -> None:
        self._log.warning("Records for Eddy are not sent: %s: %s", type(error).__name__, error)

    def _left(self) -> float:
        return _PAUSE_S if self._deadline is None else max(0.0, self._deadline - time.monotonic())

    def _is_over(self) -> bool:
        return self._stopping.is_set() and (len(self._backlog) == 0 or self._left() == 0)

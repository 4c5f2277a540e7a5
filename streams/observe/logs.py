"""Logging: structlog renders what the standard library's loggers say, for people or as JSON lines."""

from __future__ import annotations

import logging
import re
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import structlog

from streams.core.domain.text.figures import clock as time_of_day
from streams.core.domain.text.printable import escaped, escaped_json
from streams.core.errors import EddyError
from streams.observe.client_errors import ClientErrors

_MOST: Final = 3
_SHOWN_MS: Final = 600_000


class Notices(logging.Handler):
    """Takes warnings and errors instead of a stream.

    Args:
        clock: Returns the time in milliseconds since 1970.
    """

    def __init__(self, clock: Callable[[], int]) -> None:
        super().__init__(logging.WARNING)
        self._clock = clock
        self._newest: deque[tuple[int, str]] = deque(maxlen=_MOST)

    def emit(self, record: logging.LogRecord) -> None:
        """Keep what a record says, without its traceback."""
        who = "Kafka client: " if record.name.startswith("aiokafka") else ""
        self._newest.append((self._clock(), f"{who}{record.getMessage()}"))

    def recent(self) -> tuple[str, ...]:
        """Return what was said in the last ten minutes, oldest first, each with its time."""
        since = self._clock() - _SHOWN_MS
        return tuple(f"{time_of_day(at)} {text}" for at, text in self._newest if at > since)

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Take all that is logged, and Python's warnings, for as long as the block lasts."""
        root = logging.getLogger()
        before, root.handlers = root.handlers, [self]
        logging.captureWarnings(capture=True)
        try:
            yield
        finally:
            logging.captureWarnings(capture=False)
            root.handlers = before


#: In front of what the framework lets a service of ours say of itself.
_SERVICE = re.compile(r"\[\^-*[^\]]*\]: ")

#: What mode writes for each service that an error ends, and before it raises that error.
_CRASHED, _LAST_WORDS = "Crashed reason=", "We experienced a crash!"


def logging_config(level: str, output_format: str, errors: ClientErrors | None = None) -> dict[str, Any]:
    """Return a `logging.config.dictConfig` for the whole process; Faust takes it as ``logging_config``.

    At INFO the framework and the client library are written from WARNING on: what an operator has to know of
    a start and a stop the worker says itself.

    Args:
        level: Lowest level that is written, such as ``INFO``.
        output_format: Form of the lines, ``console`` or ``json``.
        errors: Folds those of the client library, if anybody wants to know how many there were.
    """
    folded = errors or ClientErrors(fold=level != "DEBUG")
    libraries = "WARNING" if level == "INFO" else level
    shared: list[Any] = [
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.ExtraAdder(),
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        _without_places,
        structlog.processors.format_exc_info,
    ]
    rendering: list[Any] = (
        [structlog.processors.JSONRenderer(), _escaped_json]
        if output_format == "json"
        else [structlog.dev.ConsoleRenderer(colors=False), _escaped]
    )
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "eddy": {
                "()": structlog.stdlib.ProcessorFormatter,
                "foreign_pre_chain": shared,
                "processors": [structlog.stdlib.ProcessorFormatter.remove_processors_meta, *rendering],
            }
        },
        "filters": {
            "services": {"()": _Services, "everything": level == "DEBUG"},
            "errors": {"()": lambda: folded},
        },
        "handlers": {
            "stderr": {
                "class": "logging.StreamHandler",
                "formatter": "eddy",
                "filters": ["services", "errors"],
                "stream": "ext://sys.stderr",
            }
        },
        "root": {"level": level, "handlers": ["stderr"]},
        "loggers": {
            "aiokafka": {"level": libraries},
            # Every request it sends is a line of DEBUG: one of them is the login, with the password in it.
            "aiokafka.conn": {"level": "INFO" if level == "DEBUG" else "NOTSET"},
            "faust": {"level": libraries},
            "mode": {"level": libraries},
            # On a busy machine it repeats, timer by timer, what the probes and metrics say about the worker.
            "mode.timers": {"level": "ERROR" if libraries == "WARNING" else "NOTSET"},
        },
    }


class _Services(logging.Filter):
    """Leaves out what the framework reports of each service: that it starts, stops, waits.

    It does so under the logger of the service's module, so that its level is that of ours. From WARNING on
    the lines stay, without the mark of their place among the services. An error that ends the worker appears
    once, however many services it ends: the last line on standard error repeats it.
    """

    def __init__(self, *, everything: bool) -> None:
        super().__init__()
        self._everything = everything
        self._ends = False

    def filter(self, record: logging.LogRecord) -> bool:
        if self._everything or not isinstance(record.msg, str):
            return True
        found = _SERVICE.match(record.msg)
        said = record.msg[found.end() if found else 0 :]
        if said.startswith(_LAST_WORDS):
            return False
        if said.startswith(_CRASHED):
            reason = record.args[0] if isinstance(record.args, tuple) and record.args else None
            if isinstance(reason, EddyError):
                first, self._ends = not self._ends, True
                record.msg, record.args, record.exc_info = "The worker stops: %s", (reason,), None
                return first
        if found is None:
            return True
        record.msg = said
        return record.levelno >= logging.WARNING


def _without_places(_logger: Any, _method: str, event: Any) -> Any:
    """Take the stack trace off an error that says what to do: where it was raised helps no operator."""
    exc_info = event.get("exc_info")
    error = exc_info[1] if isinstance(exc_info, tuple) else exc_info
    if isinstance(error, EddyError):
        del event["exc_info"]
    return event


def _escaped(_logger: Any, _method: str, lines: str) -> str:
    """Escape what others wrote. Lines below the first are indented, so that no text can forge a line."""
    return "\n    ".join(map(escaped, lines.split("\n")))


def _escaped_json(_logger: Any, _method: str, line: str) -> str:
    return escaped_json(line)

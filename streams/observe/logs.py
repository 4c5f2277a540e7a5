"""Logging: structlog renders what the standard library's loggers say, for people or as JSON lines."""

from __future__ import annotations

from typing import Any

import structlog

from streams.domain.printable import escaped, escaped_json
from streams.errors import EddyError


def logging_config(level: str, output_format: str) -> dict[str, Any]:
    """Return a `logging.config.dictConfig` for the whole process; Faust takes it as ``logging_config``.

    Args:
        level: Such as ``INFO``.
        output_format: ``console`` or ``json``.
    """
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
        "handlers": {
            "stderr": {"class": "logging.StreamHandler", "formatter": "eddy", "stream": "ext://sys.stderr"}
        },
        "root": {"level": level, "handlers": ["stderr"]},
        "loggers": {
            # Says for each connection what the worker says better.
            "aiokafka": {"level": "WARNING" if level == "INFO" else level},
            # Every request it sends is a line of DEBUG: one of them is the login, with the password in it.
            "aiokafka.conn": {"level": "INFO" if level == "DEBUG" else "NOTSET"},
            "faust": {"level": level},
            "mode": {"level": level},
        },
    }


def _without_places(_logger: Any, _method: str, event: Any) -> Any:
    """Take the stack trace off an error that says what to do: where it was raised helps no operator."""
    exc_info = event.get("exc_info")
    error = exc_info[1] if isinstance(exc_info, tuple) else exc_info
    if isinstance(error, EddyError):
        del event["exc_info"]
    return event


def _escaped(_logger: Any, _method: str, lines: str) -> str:
    """Escape what others wrote. Lines below the first are indented, so that nobody forges a line."""
    return "\n    ".join(map(escaped, lines.split("\n")))


def _escaped_json(_logger: Any, _method: str, line: str) -> str:
    return escaped_json(line)

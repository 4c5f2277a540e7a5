"""What the log looks like, for people and for machines."""

import json
import logging
import subprocess
import sys
import warnings

import pytest

from streams.observe.logs import Notices

SPEAKING = """
import logging, logging.config
from streams.observe.logs import logging_config

logging.config.dictConfig(logging_config({level!r}, {output_format!r}))
logging.getLogger("streams.test").info("Listening on %s", "port 1", extra={{"partition": 3}})
logging.getLogger("streams.test").debug("detail")
logging.getLogger("aiokafka").info("chatter")
logging.getLogger("aiokafka.conn").debug("SaslAuthenticateRequest_v1(sasl_auth_bytes=b'eddy hunter2')")
logging.getLogger("faust").info("more chatter")
logging.getLogger("faust").warning("careful")
logging.getLogger("streams.worker.app").info("[^-RunApp]: Starting...")
logging.getLogger("streams.worker.app").warning("[^--Supervisor: (1@0x7f)]: Restarting %s", "it")
try:
    1 / 0
except ZeroDivisionError:
    logging.getLogger("streams.test").exception("broken\\nin two")
"""

FAILING = """
import logging, logging.config
from streams.core.errors import StateError
from streams.observe.logs import logging_config

logging.config.dictConfig(logging_config("INFO", {output_format!r}))
try:
    raise StateError("delete it")
except StateError as error:
    for _ in range(2):  # each service that the error ends
        logging.getLogger("mode").exception("[^Worker]: Crashed reason=%r", error)
    logging.getLogger("faust.worker").critical("[^Worker]: We experienced a crash! Reraising ...")
"""


def said(level: str, output_format: str) -> list[str]:
    """Return the lines on standard error of a process that logs; nothing may be on standard output."""
    code = SPEAKING.format(level=level, output_format=output_format)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == ""
    return done.stderr.splitlines()


def test_json_lines_hold_one_event_each_with_all_that_was_told() -> None:
    lines = [json.loads(line) for line in said("INFO", "json")]
    assert [line["event"] for line in lines] == [
        "Listening on port 1",
        "careful",
        "Restarting it",
        "broken\nin two",
    ]
    first, *_, last = lines
    assert (first["level"], first["logger"], first["partition"]) == ("info", "streams.test", 3)
    assert first["timestamp"].endswith("Z")
    assert "ZeroDivisionError" in last["exception"]


def test_lines_for_people_have_no_colours_in_them() -> None:
    text = "\n".join(said("INFO", "console"))
    assert "Listening on port 1" in text
    assert "partition=3" in text
    assert "ZeroDivisionError" in text
    assert "\x1b" not in text


@pytest.mark.parametrize(
    ("level", "events"),
    [
        (
            "DEBUG",
            {
                "Listening on port 1",
                "detail",
                "chatter",
                "more chatter",
                "careful",
                "[^-RunApp]: Starting...",
                "[^--Supervisor: (1@0x7f)]: Restarting it",
                "broken\nin two",
            },
        ),
        ("WARNING", {"careful", "Restarting it", "broken\nin two"}),
        ("ERROR", {"broken\nin two"}),
    ],
)
def test_the_level_holds_for_everybody(level: str, events: set[str]) -> None:
    assert {json.loads(line)["event"] for line in said(level, "json")} == events


@pytest.mark.parametrize("level", ["DEBUG", "INFO", "WARNING"])
def test_no_level_shows_the_login_at_a_broker(level: str) -> None:
    assert "hunter2" not in "".join(said(level, "json"))


@pytest.mark.parametrize("output_format", ["console", "json"])
def test_an_error_that_says_what_to_do_is_one_line(output_format: str) -> None:
    code = FAILING.format(output_format=output_format)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    [line] = done.stderr.splitlines()
    assert "The worker stops: delete it" in line


@pytest.mark.parametrize("output_format", ["console", "json"])
def test_what_others_wrote_neither_steers_a_terminal_nor_forges_a_line(output_format: str) -> None:
    evil = "\x1b[2J\x9b31m\u202e\x7f\n2026-01-01T00:00:00Z [info] all is well"
    code = (
        "import logging, logging.config\n"
        "from streams.observe.logs import logging_config\n"
        f"logging.config.dictConfig(logging_config('INFO', {output_format!r}))\n"
        f"log, evil = logging.getLogger('streams.test'), {evil!r}\n"
        "log.info('Session %s', evil, extra={'session': evil})\n"
        "try:\n    raise ValueError(evil)\nexcept ValueError:\n    log.exception('broken')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    lines = done.stderr.decode().splitlines()
    assert all(line.isprintable() for line in lines)
    assert not [line for line in lines if line.startswith("2026-01-01T00:00:00Z")]
    if output_format == "json":
        assert json.loads(lines[0])["session"] == evil


def test_the_newest_warnings_are_texts_for_ten_minutes_and_nothing_reaches_a_stream() -> None:
    now = 1_700_000_000_000
    notices = Notices(lambda: now)
    before = logging.getLogger().handlers
    with notices.taken():
        assert logging.getLogger().handlers == [notices]
        logging.getLogger("streams").info("no warning")
        logging.getLogger("streams").warning("too old to be kept")
        logging.getLogger("streams").warning("the brokers do not answer: %d", 7)
        logging.getLogger("aiokafka.cluster").error("Unable to update metadata")
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.warn("an old name", DeprecationWarning, stacklevel=1)
    assert logging.getLogger().handlers is before
    *first, last = notices.recent()
    assert first == [
        "22:13:20 the brokers do not answer: 7",
        "22:13:20 Kafka client: Unable to update metadata",
    ]
    assert "an old name" in last
    now += 600_001
    assert notices.recent() == ()

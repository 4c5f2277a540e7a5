"""`eddy guard run`: a program without hooks, paused and ended from outside."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from streams.cli.text.screen import echo
from streams.core.domain.text.printable import printable
from streams.core.errors import ConfigurationError
from streams.observe.settings import CommandSettings, load

if TYPE_CHECKING:
    from eddy_client import Guard

_PLACE: Final = "{session}"
#: The status of a program that an operator ended before it began; no shell gives it a meaning.
_NOT_BEGUN: Final = 75


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option("--session", "session_id", metavar="ID", help="Session it is known by; a new one by default.")
@click.option("--agent", metavar="NAME", help="Agent of the session, for holds of an agent.")
@click.option("--bootstrap-servers", metavar="HOST:PORT", help="Brokers; EDDY_BOOTSTRAP_SERVERS by default.")
@click.option("--console", metavar="URL", help="Console to hear of commands, in the place of brokers.")
@click.option(
    "--token-file",
    type=click.Path(exists=True, dir_okay=False, readable=True, path_type=Path),
    metavar="FILE",
    help="File with the agent's token of that console.",
)
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def run(
    *,
    session_id: str | None,
    agent: str | None,
    bootstrap_servers: str | None,
    console: str | None,
    token_file: Path | None,
    command: tuple[str, ...],
) -> None:
    """Run a program that has no hooks, so that operators can pause and end it with all that it started.

    A pause stops every one of its processes where it is, and is told as in effect once all stand still; an
    abort ends them, after 5 seconds by force. A note cannot be given to it. In COMMAND, {session} stands for
    the session: agents that take one have the same id in their log, by which Eddy judges them.

    The exit code is that of the program; 75 if its session was ended before it began.

    \b
    Examples:
      eddy guard run -- ./agent.sh {session}
      eddy guard run --session s-17 --console https://eddy:8070 \\
          --token-file token -- ./agent.sh
    """  # noqa: D301
    if (console is None) != (token_file is None):
        raise click.UsageError("Give --console and --token-file together.")
    if console is not None and bootstrap_servers is not None:
        raise click.UsageError("Give --console or --bootstrap-servers, not both.")
    session_id = session_id or str(uuid.uuid4())
    words = [word.replace(_PLACE, session_id) for word in command]
    if console is not None and token_file is not None:
        guard = _by_console(console, token_file)
    else:
        guard = _by_kafka(load(CommandSettings, bootstrap_servers=bootstrap_servers))
    try:
        status = _guarded(guard, session_id, agent, words)
    finally:
        guard.close()
    raise click.exceptions.Exit(status)


def _guarded(guard: Guard, session_id: str, agent: str | None, command: Sequence[str]) -> int:
    from eddy_client import SessionAborted  # noqa: PLC0415 - not every command needs the client
    from eddy_client.integrations.process import run as run_program  # noqa: PLC0415

    with guard.session(session_id, agent_id=agent) as session:
        echo(f"eddy guard: session {printable(session_id, 200)}", err=True)
        try:
            return run_program(command, session)
        except SessionAborted as aborted:
            echo(f"eddy guard: it was not begun: {printable(str(aborted), 200)}", err=True)
            return _NOT_BEGUN
        except OSError as error:
            raise ConfigurationError(f"{command[0]} cannot be run: {error}") from error


def _by_console(url: str, token_file: Path) -> Guard:
    from eddy_client import Guard  # noqa: PLC0415

    return Guard.connect(url, token=token_file.read_text(encoding="utf-8").strip())


def _by_kafka(settings: CommandSettings) -> Guard:
    from eddy_client import Guard  # noqa: PLC0415

    options: dict[str, Any] = {"security.protocol": settings.security_protocol}
    if settings.security_protocol.startswith("SASL"):
        if settings.sasl_mechanism == "OAUTHBEARER":
            raise ConfigurationError("A guard cannot log in with OAUTHBEARER: give it --console")
        password = settings.sasl_password
        options |= {
            "sasl.mechanism": settings.sasl_mechanism,
            "sasl.username": settings.sasl_username,
            "sasl.password": None if password is None else password.get_secret_value(),
        }
    if "SSL" in settings.security_protocol.split("_"):
        secret = settings.ssl_keyfile_password
        options |= {
            "ssl.ca.location": settings.ssl_cafile,
            "ssl.certificate.location": settings.ssl_certfile,
            "ssl.key.location": settings.ssl_keyfile,
            "ssl.key.password": None if secret is None else secret.get_secret_value(),
            "ssl.endpoint.identification.algorithm": "https" if settings.ssl_check_hostname else "none",
        }
    if settings.client_rack:
        options["client.rack"] = settings.client_rack
    given = {name: str(value) for name, value in options.items() if value is not None}
    try:
        return Guard.kafka(
            settings.bootstrap_servers,
            key=settings.command_key_bytes,
            topic_prefix=settings.topic_prefix,
            kafka=given,
        )
    except ImportError as error:
        raise ConfigurationError(str(error)) from error

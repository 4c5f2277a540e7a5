"""The command `eddy`. One module per command family, imported when its command is called."""

from __future__ import annotations

import click

from streams.cli.command_group import LazyGroup
from streams.cli.version import show


@click.group(
    cls=LazyGroup,
    commands_in={
        "backtest": "Judge the same records under two settings documents and show what would have changed.",
        "completion": "Print a script that lets a shell complete commands, options and names of settings.",
        "config": "Read and change the detection settings.",
        "console": "Show in a browser which sessions go in circles, and why.",
        "demo": (
            "Start a broker and two workers here, replay recorded agent sessions, "
            "and show which go in circles."
        ),
        "detect": "Find the loops in the logs of your agents, without Kafka.",
        "dlq": "Look at the dead letters, and send them again once their cause is gone.",
        "broker": "Start a broker here to try things on, with Eddy's topics, until it is stopped.",
        "bridge": "Turn spans of OpenTelemetry on a topic into decision logs.",
        "doctor": "Check everything a worker needs, and say what to do about what is wrong.",
        "evaluate": "Compare what the detectors raise with what is known of the sessions.",
        "explain": "Show one session, and why it is or is not considered looping.",
        "forget": (
            "Forget sessions: their state, what compacted topics hold of them, "
            "their labels, their rows in consoles."
        ),
        "guard": "Let `eddy watch` tell and stop the coding agents of this machine, by their own hooks.",
        "hook": "Keep what Claude Code gives its hooks, for `eddy ingest` and `eddy detect`.",
        "ingest": "Carry what agents write to files on to Kafka, to a file, or to the screen.",
        "label": "Say of the newest alert of a session whether it was right.",
        "notify": "Tell people and programs what loops, until it is stopped.",
        "send": "Send decision logs of your own, such as a loop to try things with.",
        "session": "Pause, resume or abort agents, and see whether they obeyed.",
        "settings": "List the settings of each process: meaning, default, who reads it, and the value.",
        "top": "Show in the terminal which sessions go in circles now, worst first.",
        "topics": "Compare the topics with the catalogue, and create or change them.",
        "watch": "Judge the agents of this machine as they work, and tell those that loop, without Kafka.",
        "worker": "Score decision logs until it is stopped.",
    },
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option(
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=show,
    help="Show the version and the commit, and exit.",
)
def main() -> None:
    """Tells which agent sessions go in circles, and why.

    \b
    Exit codes: 0 all went well, 1 a problem was found, 2 wrong usage or input,
    3 the broker cannot be reached, 130 interrupted.
    """  # noqa: D301

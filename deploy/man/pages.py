"""Writes the man pages of `eddy` from its commands: `make man`, or `python -m deploy.man.pages FOLDER`.

One page for `eddy` itself, and one for each of its commands with everything below that. They are made when a
release is built, so that no page can be older than its command.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import click

from streams.cli import main as eddy

_PROGRAM: Final = "eddy"
#: Before a paragraph that click leaves as it is.
_AS_IT_IS: Final = "\b"
_NEVER_CUT: Final = 10_000
#: Without these, a page shows other characters than those to type; a backslash and a leading quote do worse.
_ESCAPES: Final = str.maketrans(
    {"\\": r"\e", "-": r"\-", "'": r"\(aq", "^": r"\(ha", "~": r"\(ti", "`": r"\(ga"}
)


def pages() -> Iterator[tuple[str, str]]:
    """Yield the name of each page and its text, in the language of man."""
    root = click.Context(eddy, info_name=_PROGRAM, **eddy.context_settings)
    yield f"{_PROGRAM}.1", _page(root, _commands(root))
    for below in _below(root):
        commands = _subcommands(below)
        yield f"{_title(below)}.1", _page(below, [".SH COMMANDS", *commands] if commands else [])


def write(folder: Path) -> int:
    """Write the pages into a folder, and return how many there are."""
    folder.mkdir(parents=True, exist_ok=True)
    written = dict(pages())
    for name, text in written.items():
        (folder / name).write_text(text)
    return len(written)


def _page(context: click.Context, commands: list[str]) -> str:
    title = _title(context)
    return "\n".join(
        [
            f'.TH {_escaped(title.upper())} 1 "" "Eddy" "Eddy"',
            ".SH NAME",
            f"{_escaped(title)} \\- {_escaped(_one_line(context))}",
            ".SH SYNOPSIS",
            *_usage(context),
            ".SH DESCRIPTION",
            *_text(context.command),
            ".SH OPTIONS",
            *_options(context),
            *commands,
            *((".SH SEE ALSO", f"{_PROGRAM}(1)") if context.parent else ()),
            "",
        ]
    )


def _commands(context: click.Context) -> list[str]:
    """List the commands of the program, each of which has a page."""
    lines = [".SH COMMANDS"]
    for below in _below(context):
        lines += [".TP", f".BR {_escaped(_title(below))} (1)", _escaped(_one_line(below))]
    return lines


def _subcommands(context: click.Context) -> list[str]:
    """Describe everything below a command."""
    lines: list[str] = []
    for below in _below(context):
        lines += [f".SS {_escaped(below.command_path)}", *_usage(below)]
        lines += [".PP", *_text(below.command), *_options(below), *_subcommands(below)]
    return lines


def _below(context: click.Context) -> Iterator[click.Context]:
    if isinstance(group := context.command, click.Group):
        for name in group.list_commands(context):
            command = group.get_command(context, name)
            assert command is not None
            yield click.Context(command, info_name=name, parent=context)


def _title(context: click.Context) -> str:
    return context.command_path.replace(" ", "-")


def _one_line(context: click.Context) -> str:
    return context.command.get_short_help_str(_NEVER_CUT).rstrip(".")


def _usage(context: click.Context) -> list[str]:
    """The line of how it is called: the words bold, what stands for something as it is."""
    pieces = context.command.collect_usage_pieces(context)
    return [f".B {_escaped(context.command_path)}", *map(_escaped, pieces)]


def _options(context: click.Context) -> Iterator[str]:
    for parameter in context.command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None:
            names, text = record
            yield from (".TP", f".B {_escaped(names)}", _escaped(" ".join(text.split())))


def _text(command: click.Command) -> Iterator[str]:
    text = "\n\n".join(_dedented(part) for part in (command.help, command.epilog) if part)
    for number, paragraph in enumerate(re.split(r"\n\s*\n", text)):
        if number:
            yield ".PP"
        first, _, rest = paragraph.partition("\n")
        if first.strip() == _AS_IT_IS:
            yield from (".nf", *map(_escaped, rest.splitlines()), ".fi")
        else:
            yield from map(_escaped, paragraph.splitlines())


def _dedented(text: str) -> str:
    first, *others = text.strip("\n").splitlines() or [""]
    indent = min((len(line) - len(line.lstrip(" ")) for line in others if line.strip()), default=0)
    return "\n".join([first.lstrip(" "), *(line[indent:] for line in others)])


def _escaped(text: str) -> str:
    """Return a line in which nothing is a request or an escape of roff."""
    return ("\\&" if text.startswith(".") else "") + text.translate(_ESCAPES)


if __name__ == "__main__":
    sys.stdout.write(f"{write(Path(sys.argv[1]))} pages in {sys.argv[1]}\n")

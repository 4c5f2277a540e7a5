"""Options of the commands that read files: which files, in which format."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, Final

import click

from streams.cli.text.screen import echo
from streams.core.domain.text.figures import count
from streams.formats.adapters.adapter import Format
from streams.formats.adapters.mapped import mapped_format
from streams.formats.format_detection import FormatDetection
from streams.formats.prices import Prices, parse_prices
from streams.formats.registry import AUTO, FORMAT_NAMES
from streams.formats.sources import known_places

_UNITS_MS: Final = {"s": 1_000, "m": 60_000, "h": 3_600_000}
_SPAN: Final = re.compile(r"([0-9]{1,9})([smh])")


_MAP: Final = "eddy.map"
_PRICES: Final = "eddy.prices"

INPUT_PATH: Final = click.Path(exists=True, readable=True, allow_dash=True)
"""A file, a folder, or - for standard input."""

_format_option: Final = click.option(
    "--format",
    "input_format",
    type=click.Choice(FORMAT_NAMES),
    default=AUTO,
    show_default=True,
    metavar="FORMAT",
    is_eager=True,  # before --map, which excludes it
    help=f"How the records are written down; auto looks at each file. One of {', '.join(FORMAT_NAMES)}.",
)


def _mapped(context: click.Context, _parameter: click.Parameter, path: Path | None) -> Format | None:
    if path is None:
        return None
    if context.params.get("input_format", AUTO) != AUTO:
        raise click.UsageError("Give --map or --format, not both.")
    context.meta[_MAP] = str(path)
    return mapped_format(path.read_bytes())


def given_options() -> tuple[str, ...]:
    """Return the options that say how files are read and judged, for a command that is recommended."""
    context = click.get_current_context()
    chosen, settings = context.params["input_format"], context.params.get("settings_path")
    return (
        *(() if chosen == AUTO else ("--format", str(chosen))),
        *(("--map", context.meta[_MAP]) if _MAP in context.meta else ()),
        *(("--prices", context.meta[_PRICES]) if _PRICES in context.meta else ()),
        *(() if settings is None else ("--settings", str(settings))),
    )


_map_option: Final = click.option(
    "--map",
    "mapped",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, readable=True, path_type=Path),
    callback=_mapped,
    help="Mapping file (TOML): which column of a CSV file, or JSON pointer of JSON lines, is what.",
)


def _prices(context: click.Context, _parameter: click.Parameter, path: Path | None) -> Prices | None:
    if path is None:
        return None
    context.meta[_PRICES] = str(path)
    return parse_prices(path.read_bytes())


_prices_option: Final = click.option(
    "--prices",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, readable=True, path_type=Path),
    callback=_prices,
    help="Prices of models (YAML), for logs that tell tokens and no cost.",
)


def formats_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options that say how files are read, and it the `FormatDetection` for them."""

    @wraps(command)
    def reading(
        *given: Any, input_format: str, mapped: Format | None, prices: Prices | None, **more: Any
    ) -> Any:
        return command(*given, formats=FormatDetection(input_format, mapped, prices), **more)

    return _format_option(_map_option(_prices_option(reading)))


def settings_option(
    text: str = "JSON document of settings that differ from the defaults.",
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return the option that names the settings which files are judged under, with this help."""
    return click.option(
        "--settings",
        "settings_path",
        metavar="FILE",
        type=click.Path(exists=True, dir_okay=False, readable=True, path_type=Path),
        help=text,
    )


def known_files() -> list[str]:
    """Return the logs in the known places, and say which places have some.

    Raises:
        UsageError: none has.
    """
    places = known_places(Path.home())
    if not any(each.files for each in places):
        looked = ", ".join(dict.fromkeys(each.folder for each in places))
        raise click.UsageError(f"No agent keeps logs here: {looked} have none. Give a file or a folder.")
    found: Counter[tuple[str, str]] = Counter()
    for each in places:  # a program may keep two kinds of files in a folder
        found[each.format.name, each.folder] += len(each.files)
    for (program, folder), files in found.items():
        echo(f"{program}: {count(files, 'file') if files else 'none'} in {folder}", err=True)
    return [name for each in places for name in each.files]

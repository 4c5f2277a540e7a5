"""`eddy settings`: every setting of every process and who reads it, from the code itself."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal, get_args, get_origin

import click
from annotated_types import Ge, Gt, Le, Lt
from pydantic import SecretStr
from pydantic.fields import FieldInfo

from streams.alerts.settings import NotifySettings
from streams.cli.settings_change import AS_JSON
from streams.cli.text.screen import echo, echo_json
from streams.console.settings import ConsoleSettings
from streams.core.errors import ConfigurationError
from streams.observe.settings import BridgeSettings, SettingsPart, TopicSettings, WorkerSettings, load

#: Who reads what: a worker, then what others have beside it.
READERS: Final[Mapping[str, type[SettingsPart]]] = {
    "worker": WorkerSettings,
    "topics": TopicSettings,
    "bridge": BridgeSettings,
    "console": ConsoleSettings,
    "notify": NotifySettings,
}

_HIDDEN = "(set, hidden)"

#: A login in front of the host of an address, of which there may be several.
_LOGIN = re.compile(r"(?<=://)(?:(?!,https?://).)*@")


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME...]")
@click.option("--changed", "only_changed", is_flag=True, help="Only what differs from the default.")
@AS_JSON
def settings(names: tuple[str, ...], only_changed: bool, as_json: bool) -> None:
    """List the settings of each process: meaning, default, who reads it, and the value.

    Those of a worker come first, then what `eddy topics`, `eddy bridge`, a console and `eddy notify` have
    beside them. A process checks only what it reads. Each setting is an environment variable, or a line of
    `.env` in this directory. NAME is a variable or a part of one, such as `ssl`. Needs no broker. The
    settings of detection are another matter, see `eddy config describe`. If a value cannot be used, the list
    shows the defaults of that process and ends with why.
    """
    loaded: dict[str, SettingsPart] = {}
    wrong: dict[str, ConfigurationError] = {}
    for reader, kind in READERS.items():
        try:
            loaded[reader] = load(kind)
        except ConfigurationError as error:
            wrong[reader], loaded[reader] = error, kind.model_construct()
    # The first that knows a setting shows it: one that others have, too, may have another default there.
    sources = {name: each for each in reversed(loaded.values()) for name in type(each).model_fields}
    variables = {f"EDDY_{name.upper()}": name for kind in READERS.values() for name in kind.model_fields}
    chosen = {
        variable: name
        for variable, name in variables.items()
        if not names or any(word.upper() in variable for word in names)
    }
    if not chosen:
        raise click.UsageError(f"There is no setting {' '.join(names)}. `eddy settings` shows all.")
    for variable, name in chosen.items():
        source = sources[name]
        field = type(source).model_fields[name]
        value, default = getattr(source, name), field.get_default(call_default_factory=True)
        if only_changed and value == default:
            continue
        row = {
            "variable": variable,
            "meaning": field.description,
            "default": _plain(default),
            "may_be": range_of(field),
            "value": _plain(value),
            "read_by": [reader for reader, kind in READERS.items() if name in kind.model_fields],
        }
        if as_json:
            echo_json(row)
            continue
        echo(variable if value == default else f"{variable} = {_text(row['value'])}")
        echo(f"    {row['meaning']}")
        allowed = f"; {row['may_be']}" if row["may_be"] else ""
        echo(f"    default {_text(row['default'])}{allowed}; read by {', '.join(row['read_by'])}")
    if wrong:
        raise next(iter(wrong.values()))


def range_of(field: FieldInfo) -> str | None:
    """Return what a setting may be, in words; None where its type says nothing of use.

    >>> range_of(WorkerSettings.model_fields["web_port"])
    '0 to 65535'
    >>> range_of(WorkerSettings.model_fields["output_format"])
    'avro or json'
    """
    if get_origin(field.annotation) is Literal:
        return " or ".join(map(str, get_args(field.annotation)))
    if field.annotation is bool:
        return "true or false"
    bounds = {type(each): each for each in field.metadata}
    low, high = bounds.get(Ge), bounds.get(Le)
    words = []
    if low is not None and high is not None:
        return f"{low.ge} to {high.le}"
    if low is not None:
        words.append(f"at least {low.ge}")
    if (above := bounds.get(Gt)) is not None:
        words.append(f"above {above.gt}")
    if high is not None:
        words.append(f"at most {high.le}")
    if (below := bounds.get(Lt)) is not None:
        words.append(f"below {below.lt}")
    return ", ".join(words) or None


def _plain(value: Any) -> Any:
    match value:
        case SecretStr():
            return _HIDDEN
        case Path():
            return str(value)
        case dict():  # options that are handed through may be secrets, too
            return dict.fromkeys(value, _HIDDEN)
        case str():
            return _LOGIN.sub("(hidden)@", value)
        case _:
            return value


def _text(value: object) -> str:
    return "not set" if value is None else value if isinstance(value, str) and value else json.dumps(value)

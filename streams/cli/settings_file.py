"""Settings from a JSON document in a file."""

from __future__ import annotations

from pathlib import Path

import click
import orjson

from streams.cli.text.screen import echo
from streams.core.detectors.settings import DEFAULTS, DetectionSettings
from streams.core.domain.text.printable import printable
from streams.core.errors import ConfigurationError
from streams.core.proof import warnings as unproven
from streams.core.settings_document import SettingWarning, resolve

FIRST_VERSION = 1


def read_settings(path: Path) -> tuple[DetectionSettings, tuple[SettingWarning, ...]]:
    """The defaults changed by the document, as version 1, and the parts that were refused.

    Raises:
        ConfigurationError: the file cannot be read, or does not hold one JSON object. It is named.
    """
    try:
        document = orjson.loads(path.read_bytes())
    except (OSError, orjson.JSONDecodeError) as error:
        raise ConfigurationError(f"{path}: {error}. Give a file with one JSON object") from error
    if not isinstance(document, dict):
        raise ConfigurationError(f"{path}: not a JSON object. Give a file with one JSON object")
    return resolve(document, DEFAULTS, FIRST_VERSION)


def settings_in_force(path: Path | None, option: str = "--settings") -> DetectionSettings:
    """The settings of `named_settings`; rules that cannot fire under them go to standard error too.

    Raises:
        click.BadParameter: the file cannot be read, or does not hold one JSON object.
    """
    if path is None:
        return DEFAULTS
    settings = named_settings(path, option)
    for problem in unproven(settings):
        echo(f"warning: {problem}", err=True)
    return settings


def named_settings(path: Path, option: str = "--settings") -> DetectionSettings:
    """The defaults, changed by the document an option names.

    Raises:
        click.BadParameter: the file cannot be read, does not hold one JSON object, or sets what cannot be.
    """
    try:
        settings, warnings = read_settings(path)
    except ConfigurationError as error:
        raise click.BadParameter(str(error), param_hint=f"'{option}'") from error
    if warnings:
        problems = "; ".join(
            f"{printable(warning.setting, 200)}: {printable(warning.problem, 200)}" for warning in warnings
        )
        end = "" if problems.endswith("?") else "."
        raise click.BadParameter(
            f"{path}: {problems}{end} `eddy config describe` explains every setting", param_hint=f"'{option}'"
        )
    return settings

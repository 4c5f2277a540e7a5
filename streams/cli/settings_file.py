"""Settings from a JSON document in a file."""

from __future__ import annotations

from pathlib import Path

import orjson

from streams.domain.detection_settings import DEFAULTS, DetectionSettings
from streams.domain.settings_document import SettingWarning, resolve
from streams.errors import ConfigurationError

FIRST_VERSION = 1


def read_settings(path: Path) -> tuple[DetectionSettings, tuple[SettingWarning, ...]]:
    """The defaults changed by the document, as version 1, and what of it was refused.

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

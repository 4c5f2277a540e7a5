"""The formats, in the order in which they are tried."""

from __future__ import annotations

from typing import Final

from streams.sources.adapters import claude_code
from streams.sources.adapters.adapter import Format

FORMATS: Final[tuple[Format, ...]] = (claude_code.FORMAT,)

BY_NAME: Final = {each.name: each for each in FORMATS}

"""A span of time on the command line."""

from __future__ import annotations

import re
from typing import Final

import click

_UNITS_MS: Final = {"s": 1_000, "m": 60_000, "h": 3_600_000}
_SPAN: Final = re.compile(r"([0-9]{1,9})([smh])")


class DurationType(click.ParamType):
    """A number and its unit, such as 90s, 15m or 2h; the value is in milliseconds."""

    name = "duration"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Read the number and the unit."""
        if isinstance(value, int):
            return value
        found = _SPAN.fullmatch(str(value).strip())
        if found is None:
            self.fail(f"{value!r} is no time such as 90s, 15m or 2h.", param, ctx)
        return int(found[1]) * _UNITS_MS[found[2]]

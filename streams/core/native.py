"""Whether the native core is in use: decided once, when the process begins.

The distribution ``eddy-native`` holds twins of some functions, written in Rust. A twin returns what the
function in Python returns, byte for byte, or leaves the value to it: it changes what a record costs, and
nothing else.

======================  ==================================================================
``EDDY_NATIVE=auto``    use it if it is installed and made for this Eddy; the default
``EDDY_NATIVE=off``     never use it
``EDDY_NATIVE=on``      refuse to start without it
======================  ==================================================================
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import Final, NamedTuple

from streams.core.errors import ConfigurationError

VARIABLE: Final = "EDDY_NATIVE"
REVISION: Final = 3
"""Which values the twins return: one more with each change of them, here and in ``native/src/python.rs``."""

_INSTALL: Final = "Install it with `make setup`, where cargo is, or from its wheel (docs/native.md)"


class NativeChoice(NamedTuple):
    """Whether the native core is in use.

    Attributes:
        in_use: whether functions of the native core are used.
        why: in words: which version, or why not.
    """

    in_use: bool
    why: str

    def __str__(self) -> str:
        """Say both.

        >>> str(NativeChoice(False, "eddy-native is not installed"))
        'not in use: eddy-native is not installed'
        """
        return f"{'in use' if self.in_use else 'not in use'}: {self.why}"


def choose(wanted: str, name: str = "eddy_native") -> NativeChoice:
    """Decide by the value of the variable, and by what is installed.

    Raises:
        ConfigurationError: the value is none of three, or the native core is wanted and cannot be used.
    """
    if wanted not in {"", "auto", "on", "off"}:
        raise ConfigurationError(f"{VARIABLE} is {wanted!r}. It can be auto, on or off.")
    if wanted == "off":
        return NativeChoice(False, f"{VARIABLE} is off")
    choice = _found(name)
    if wanted == "on" and not choice.in_use:
        raise ConfigurationError(
            f"{VARIABLE} is on, and {choice.why}. {_INSTALL}, or set {VARIABLE} to auto."
        )
    return choice


def _found(name: str) -> NativeChoice:
    try:
        core = import_module(name)
    except ModuleNotFoundError:
        return NativeChoice(False, "eddy-native is not installed")
    except ImportError as error:
        return NativeChoice(False, f"eddy-native cannot be loaded ({error})")
    revision, version = getattr(core, "REVISION", None), getattr(core, "VERSION", "?")
    if revision != REVISION:
        return NativeChoice(
            False, f"eddy-native {version} has revision {revision}, this Eddy needs {REVISION}"
        )
    return NativeChoice(True, f"eddy-native {version}")


NATIVE: Final = choose(os.environ.get(VARIABLE, ""))

"""What the stub of a model says: the calls of each turn of an agent.

A script is the name of the model, so the stub needs no state: it counts the results in each request.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class Call(NamedTuple):
    """A call of the tool `search` or of the tool `read_config`, which always fails."""

    tool: str
    arguments: dict[str, str]


REPEATS: Final = 6

TOKENS: Final = 120
"""What the stub says that each answer has cost, with its question."""

SCRIPTS: Final = {
    "loops": [[Call("read_config", {"path": "config/settings.toml"})]] * REPEATS,
    "works": [
        [Call("search", {"query": "where are the settings read"})],
        [Call("search", {"query": "class SettingsLoader"})],
        [Call("search", {"query": "who calls SettingsLoader.load"})],
        [Call("search", {"query": "tests of the loader"})],
    ],
    "pairs": [
        [Call("search", {"query": "one"}), Call("search", {"query": "two"})],
        [Call("search", {"query": "three"}), Call("read_config", {"path": "four"})],
    ],
}

ANSWER: Final = "That is all I can say of the settings."

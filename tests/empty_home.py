"""A home folder that is empty, so that no test depends on what the person who runs it keeps in theirs."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, MutableMapping
from pathlib import Path
from typing import Final

#: What programs that tests start would look for at home: the variable that tells them where it is, and what
#: must be there for the variable to be set. Java does not ask HOME: Maven finds its repository anyway.
KEPT: Final = {
    "CARGO_HOME": (".cargo", ".cargo"),
    "RUSTUP_HOME": (".rustup", ".rustup"),
    "PYENV_ROOT": (".pyenv", ".pyenv"),
    "GOPATH": ("go", "go"),
    "GOCACHE": (".cache/go-build", ".cache/go-build"),
    "PIP_CACHE_DIR": (".cache/pip", ".cache/pip"),
    "PIP_CONFIG_FILE": (".config/pip/pip.conf", ".config/pip/pip.conf"),
    "npm_config_cache": (".npm", ".npm"),
    "npm_config_userconfig": (".npmrc", ".npmrc"),
    "GIT_CONFIG_GLOBAL": (".gitconfig", ".gitconfig"),
    # Podman without root keeps its images and settings there.
    "XDG_DATA_HOME": (".local/share", ".local/share/containers"),
    "XDG_CONFIG_HOME": (".config", ".config/containers"),
}
#: Where Eddy itself would keep its state instead of at home.
DROPPED: Final = "XDG_STATE_HOME"


def enter(environment: MutableMapping[str, str]) -> Callable[[], None]:
    """Let HOME be a new empty folder, and return what removes it and brings the environment back."""
    before = dict(environment)
    folder = tempfile.TemporaryDirectory(prefix="eddy-home-", ignore_cleanup_errors=True)
    if "HOME" in before:
        home = Path(before["HOME"])
        for name, (place, witness) in KEPT.items():
            if (home / witness).exists():
                environment.setdefault(name, str(home / place))
    environment.pop(DROPPED, None)
    environment["HOME"] = folder.name

    def leave() -> None:
        environment.clear()
        environment.update(before)
        folder.cleanup()

    return leave

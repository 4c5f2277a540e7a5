"""Errors that reach an operator. Each message says what to do about it.

The tree:

    EddyError
    ├── ConfigurationError      a setting or a file is wrong: nothing was started
    │   ├── ConflictError       another user was first: look, and try again
    │   └── NotFoundError       what was named is not there: correct the name
    ├── InfrastructureError     broker, disk or registry failed: the worker stops, nothing was acknowledged
    ├── StateError              local state cannot be used as it is
    │   └── DamagedStateError   its files are damaged: it is set aside and restored
    └── ProducerFencedError     another worker owns a partition: the run is abandoned, this worker continues
"""

from __future__ import annotations


class EddyError(Exception):
    """Anything Eddy raises on purpose."""


class ConfigurationError(EddyError):
    """A setting or an input file is wrong. Correct it and start again; nothing was changed."""


class ConflictError(ConfigurationError):
    """Another user changed the same thing first. Look at what is there now, and try again."""


class NotFoundError(ConfigurationError):
    """What was asked for is not there. The message names what comes nearest."""


class InfrastructureError(EddyError):
    """The broker, the disk or the registry failed.

    The worker stops before it acknowledges anything; once the cause is gone, a restart continues where
    the last acknowledged run ended.
    """


class StateError(EddyError):
    """The local state directory cannot be used. Delete it: the changelog topic restores it."""


class DamagedStateError(StateError):
    """The files of a database are damaged. A worker sets it aside and restores it from the changelog.

    Args:
        path: The directory of the database.
        problem: What was wrong with the files.
    """

    def __init__(self, path: object, problem: str) -> None:
        super().__init__(
            f"{path} is damaged ({problem}). The next worker that uses it sets it aside and restores it from "
            "the changelog: there is nothing to do."
        )
        self.problem = problem


class ProducerFencedError(EddyError):
    """Another worker writes for a partition that this one held itself to own.

    Nothing of the run was done, and it is not acknowledged: who owns the partition processes it.
    """

"""Several workers as one: what each of the processes of `eddy worker --processes N` has for itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

from streams.core.errors import ConfigurationError
from streams.observe.settings import WorkerSettings

S = TypeVar("S", bound=WorkerSettings)

_LAST_PORT = 65_535


def of_process(settings: S, number: int) -> S:
    """Return the settings of one of the processes, counted from 1.

    The first has what a worker alone has, so that it continues with the state of one. Each further one has a
    directory inside of the data directory, a port of its own behind the first, and a name of its own in the
    group.

    Raises:
        ConfigurationError: there is no port left for it.
    """
    ports = settings.web_port + number - 1
    if ports > _LAST_PORT:
        raise ConfigurationError(
            f"Process {number} would listen on port {ports}. Choose a lower EDDY_WEB_PORT: the processes "
            "listen on it and on the ports after it."
        )
    if number == 1:
        return settings.model_copy(update={"processes": 1})
    name = settings.group_instance_id
    return settings.model_copy(
        update={
            "processes": 1,
            "data_dir": settings.data_dir / f"process-{number}",
            "web_port": ports if settings.web_port else 0,
            "group_instance_id": None if name is None else f"{name}.process-{number}",
        }
    )


def of_each_process(settings: S) -> Iterator[S]:
    """Yield the settings of each process, the first one first.

    Raises:
        ConfigurationError: there is no port left for one.
    """
    for number in range(1, settings.processes + 1):
        yield of_process(settings, number)

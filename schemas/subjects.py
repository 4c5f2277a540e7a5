"""The subjects of Eddy in a registry: registering them, and finding their ids."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from schemas.bundled import latest, versions
from schemas.numbers import INPUT_SUBJECTS
from streams.core.errors import ConfigurationError

if TYPE_CHECKING:
    from schemas.registry import Registry


def compatibility(subject: str) -> str:
    """Return the rule a subject evolves by.

    Inputs are read for as long as the topic keeps them, so every newer schema reads them; outputs are also
    read by consumers that have not been upgraded yet.

    >>> compatibility("decision-logs-value"), compatibility("topology-value")
    ('BACKWARD_TRANSITIVE', 'FULL_TRANSITIVE')
    """
    return "BACKWARD_TRANSITIVE" if subject in INPUT_SUBJECTS else "FULL_TRANSITIVE"


async def register_all(registry: Registry, subjects: Iterable[str]) -> dict[str, int]:
    """Register every version of the subjects, oldest first, under their rules; return the newest ids.

    Doing it again changes nothing.

    Raises:
        ConfigurationError: the registry does not accept a schema.
        InfrastructureError: the registry cannot be reached.
    """
    ids = {}
    for subject in subjects:
        await registry.require(subject, compatibility(subject))
        for schema in versions(subject):
            ids[subject] = await registry.register(subject, schema.definition)
    return ids


async def ids_of(registry: Registry, subjects: Iterable[str]) -> dict[str, int]:
    """Return the id of the newest version of each subject.

    Raises:
        ConfigurationError: a subject does not hold it.
        InfrastructureError: the registry cannot be reached.
    """
    ids, missing = {}, []
    for subject in subjects:
        schema = latest(subject)
        found = await registry.id_of(subject, schema.definition)
        if found is None:
            missing.append(schema.name)
        else:
            ids[subject] = found
    if missing:
        raise ConfigurationError(
            f"the schema registry does not hold {', '.join(missing)}: register the files of schemas/, or "
            "start with EDDY_SCHEMA_REGISTRY_REGISTER=true"
        )
    return ids

"""The schemas that come with Eddy, and the registry where one is set."""

from __future__ import annotations

from dataclasses import replace

from schemas.bundled import JOB_SUBJECTS, latest, versions
from schemas.codec import Codec
from schemas.numbers import CONTROL_SUBJECTS, SUBJECT_NUMBERS
from schemas.registry import Registry
from streams.core.domain.topic import AGGREGATES, OUTPUTS
from streams.core.errors import ConfigurationError, InfrastructureError
from streams.observe.settings import RegistrySettings
from streams.operate.doctor.check import Check, fail, ok, warn
from streams.worker.endpoints import registry_address


def bundled_check() -> Check:
    """Return whether every bundled schema can be read, and every output written."""
    try:
        found = [schema for subject in SUBJECT_NUMBERS for schema in versions(subject)]
        codec = Codec.bundled()
        for topic in (*OUTPUTS, *AGGREGATES):
            codec.encoder(f"{topic}-value")
        for subject in CONTROL_SUBJECTS:
            codec.encoder(subject)
    except (OSError, ValueError, LookupError, TypeError) as error:
        advice = "Files of the package are missing or damaged: install Eddy again."
        return fail("schemas", f"a bundled schema cannot be used ({error!r})", advice)
    return ok("schemas", f"{len(found)} versions of {len(SUBJECT_NUMBERS)} subjects are bundled")


async def registry_check(settings: RegistrySettings, within: float) -> list[Check]:
    """Return whether the registry answers and holds the schemas; it is asked, nothing is registered."""
    return [await _registry_check(settings, within)]


async def _registry_check(settings: RegistrySettings, within: float) -> Check:
    if settings.schema_registry_url is None:
        return ok("registry", "none is set: the bundled schemas are used")
    address = replace(
        registry_address(settings, settings.schema_registry_url),
        timeout_s=within,
        attempts=1,
        give_up_after_s=within,
    )
    try:
        async with Registry(address) as registry:
            newest = [latest(subject) for subject in JOB_SUBJECTS]
            missing = [
                schema.name
                for schema in newest
                if await registry.id_of(schema.subject, schema.definition) is None
            ]
    except ConfigurationError as error:
        return fail("registry", str(error), "Correct EDDY_SCHEMA_REGISTRY_URL or the login.")
    except InfrastructureError:
        said = f"{address.shown()} does not answer within {within:g} s"
        return fail("registry", said, "Check EDDY_SCHEMA_REGISTRY_URL, the network and the registry's logs.")
    if not missing:
        return ok("registry", f"{address.shown()} holds the schemas of this version")
    said = f"{address.shown()} does not hold {', '.join(missing)}"
    if settings.schema_registry_register:
        return warn("registry", said, "A worker registers them when it starts; it needs the right to.")
    return fail("registry", said, "Register the files of schemas/, or set EDDY_SCHEMA_REGISTRY_REGISTER.")

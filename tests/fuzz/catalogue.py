"""Every attack there is."""

from __future__ import annotations

from tests.fuzz import adapters, bridging, decoding, folding, settings_documents, sources, stored, texts
from tests.fuzz.target import Target

TARGETS: dict[str, Target] = {
    target.name: target
    for target in (
        decoding.WIRE,
        decoding.AVRO,
        decoding.SCHEMAS,
        folding.MESSAGES,
        folding.SESSIONS,
        settings_documents.SETTINGS,
        stored.STATE,
        stored.RESTORED,
        stored.CONTRIBUTIONS,
        *sources.FILES,
        *adapters.ADAPTERS,
        bridging.BRIDGE,
        texts.RESULTS,
        texts.ARGUMENTS,
    )
}

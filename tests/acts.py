"""Windows of the pattern detector, written as a test reads them."""

from streams.core.detectors.patterns.state import PatternsState, version
from streams.core.domain.shared_window import append


def window(*acts: str) -> PatternsState:
    """Acts as "kind target hash", "-" for no hash, a lone kind for no target."""
    kinds = places = ""
    versions = ()
    for act in acts:
        kind, *about = act.split()
        item = version("tool", about[0], None if about[1] == "-" else about[1]) if about else None
        versions, places = append(versions, places, item, 100)
        kinds += kind
    return PatternsState(kinds, versions, places)

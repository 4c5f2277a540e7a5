"""The steps of a recording, judged."""

from collections.abc import Iterable

from streams.console.view import RecordStep
from streams.core.detectors.settings import DEFAULTS, DetectionSettings
from streams.core.domain.outcome import Scored
from streams.core.entry import Entry
from streams.core.offline import judge
from streams.formats.reading import entries
from streams.formats.recordings.catalogue import RECORDINGS

NAMES = [recording.name for recording in RECORDINGS]


def steps_of(found: Iterable[Entry], settings: DetectionSettings = DEFAULTS) -> list[RecordStep]:
    """Judge entries; return the steps of the session with most records."""
    by_session: dict[str, list[RecordStep]] = {}
    for judgement in judge(found, settings):
        if isinstance(judgement.outcome, Scored):
            steps = by_session.setdefault(judgement.outcome.decision.session_id, [])
            steps.append(RecordStep(0, judgement.offset, None, judgement.outcome.enriched, len(steps) + 1))
    return max(by_session.values(), key=len)


def recorded(name: str, settings: DetectionSettings = DEFAULTS) -> list[RecordStep]:
    """Return the steps of a recording."""
    [recording] = [each for each in RECORDINGS if each.name == name]
    return steps_of(entries([str(recording.path)], recording.input_format), settings)

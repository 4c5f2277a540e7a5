"""Where an event goes: its topic, or nowhere but the enriched record (specification 7.1)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from streams.core.detectors.settings import DetectionSettings
from streams.core.domain.event_kind import ALERT_FAMILIES, TOPIC_OF, EventKind
from streams.core.domain.level import Level
from streams.core.domain.topic import Topic


def topic_of(kind: EventKind, fields: Mapping[str, Any], settings: DetectionSettings) -> Topic | None:
    """Return the topic an event is published to, None when it is only in `eddy.events`.

    `alert_families` chooses among the alert kinds; an episode below `episode_min_level` stays inside.

    >>> from streams.core.detectors.settings import DEFAULTS
    >>> topic_of(EventKind.LOOP_EPISODE, {"level": "WARNING"}, DEFAULTS) is None
    True
    """
    if kind in ALERT_FAMILIES and kind.value not in settings.alert_families:
        return None
    if kind is EventKind.LOOP_EPISODE and not Level(fields["level"]).at_least(
        Level(settings.episode_min_level)
    ):
        return None
    return TOPIC_OF[kind]

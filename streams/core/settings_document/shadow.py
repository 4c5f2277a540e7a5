"""Settings that are tried out: a second document, evaluated beside the one in force, without alerts."""

from __future__ import annotations

from typing import NamedTuple

from streams.core.detectors.settings import DetectionSettings


class ShadowDocument(NamedTuple):
    """What `shadow-config` says at a moment.

    Attributes:
        position: the offset after the record that said so. It orders what the topic said; versions cannot,
            since they start again when the topic was emptied.
        version: of the newest document, 0 before any and after a tombstone.
        settings: what is tried out; None when nothing is.
    """

    position: int = 0
    version: int = 0
    settings: DetectionSettings | None = None


class Shadow(NamedTuple):
    """What is tried out on records of a partition.

    Attributes:
        settings: the settings, with the version of their document.
        since: the offset of the partition from which on something has been tried out without a break. What
            a session kept from before belongs to an earlier trial.
    """

    settings: DetectionSettings
    since: int

"""Which enriched records the screens can show: those of the shape and with the words that this version knows.

Whatever may write to the topic can write other values there, and a newer version other kinds of events.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from schemas.encoder import UnencodableError, bundled_encoder
from streams.console.lens.evidence import evidence
from streams.console.lens.lens import lens
from streams.console.session_facts import explanation
from streams.console.step import Step
from streams.core.detectors.settings import DEFAULTS
from streams.core.domain.decision import Decision
from streams.core.domain.record import Record
from streams.core.domain.topic import Topic
from streams.core.errors import EddyError
from streams.core.pipeline import admit

#: What reading a value raises that is not what the schema promises.
MISFITS: Final = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, EddyError)

_ENCODER: Final = bundled_encoder(f"{Topic.ENRICHED}-value")


def misfit(step: Step) -> str | None:
    """Return why a step cannot be shown, None if it can."""
    try:
        _ENCODER.encode(step.record)
        if not isinstance(_admitted(step), Decision):
            return "its decision log is none that is accepted"
        lens((step,), folded=False).content()
        evidence(explanation(step.record["session_id"], (step,)))
    except UnencodableError as error:
        return str(error)
    except MISFITS as error:
        return f"{type(error).__name__} while it is shown"
    return None


def _admitted(step: Step) -> object:
    known: Mapping[str, Any] = {name: value for name, value in step.record.items() if name != "eddy"}
    record = Record(step.partition, step.offset, known["session_id"], None, dict(known))
    return admit(record, DEFAULTS)

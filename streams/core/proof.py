"""Every rule proves that it can fire: its shortest sequence is run through the pipeline. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from streams.core.detectors.registry import rules_of
from streams.core.detectors.settings import DetectionSettings
from streams.core.domain.outcome import Rejected, Scored
from streams.core.domain.record import Record
from streams.core.domain.session import Session
from streams.core.domain.witness import Obstacle, Reachability, Witness
from streams.core.pipeline import admit, step
from streams.core.policy.witness import SESSION_ID, reachability, witness

#: A worker proves at start and at every change, so it runs no longer sequences than these.
RUN_AT_MOST = 100


class ProofFinding(StrEnum):
    """What became of the proof."""

    PROVEN = "proven"
    """The sequence made the rule fire, at its last record and not before."""
    TOO_LONG = "too long"
    """There is a sequence; it is longer than what was to be run."""
    OFF = "off"
    """The rule is switched off on purpose."""
    IMPOSSIBLE = "impossible"
    """Settings are in the way."""
    NOT_FOUND = "not found"
    """No sequence was found among those that were tried."""
    REFUTED = "refuted"
    """The sequence did not do what it should: a mistake in Eddy."""


@dataclass(frozen=True, slots=True)
class Proof:
    """What is known of one rule and level.

    ``why`` is the reason of what is not proven; ``witness`` is None for what cannot fire.
    """

    row: Reachability
    finding: ProofFinding
    witness: Witness | None = None
    why: str = ""

    @property
    def is_dead(self) -> bool:
        """Whether the rule ought to fire and cannot, or is not known to."""
        return self.finding in {ProofFinding.IMPOSSIBLE, ProofFinding.NOT_FOUND, ProofFinding.REFUTED}


def prove(settings: DetectionSettings, run_at_most: int = RUN_AT_MOST) -> tuple[Proof, ...]:
    """Prove each row of the reachability table, running sequences of at most this many records.

    >>> from streams.core.detectors.settings import DEFAULTS
    >>> loop, warning, *_ = prove(DEFAULTS)
    >>> loop.finding, loop.witness.records, warning.witness.records
    (<ProofFinding.PROVEN: 'proven'>, 5, 3)
    """
    return tuple(_proof(row, settings, run_at_most) for row in reachability(settings))


def sentence(proof: Proof) -> str:
    """Return what there is to say about a rule that is not proven."""
    rule, level = proof.row.rule, proof.row.level
    match proof.finding:
        case ProofFinding.PROVEN:
            return f"{rule} can reach {level}"
        case ProofFinding.TOO_LONG:
            return f"{rule} is not proven to reach {level}: {proof.why}"
        case ProofFinding.NOT_FOUND:
            return f"{rule} is not known to reach {level}: {proof.why}"
        case ProofFinding.REFUTED:
            return f"{rule} did not reach {level}: {proof.why}"
        case _:
            return f"{rule} can never reach {level}: {proof.why}"


def warnings(settings: DetectionSettings) -> tuple[str, ...]:
    """Return a sentence for each rule and level that should be able to fire under ``settings`` and is not.

    >>> from dataclasses import replace
    >>> from streams.core.detectors.settings import DEFAULTS
    >>> warnings(DEFAULTS), warnings(replace(DEFAULTS, entropy_window_size=4))
    ((), ('A1 can never reach LOOP: entropy_window_size too small for entropy_loop_threshold',))
    """
    return tuple(sentence(proof) for proof in prove(settings) if proof.is_dead)


def scored(found: Witness, settings: DetectionSettings) -> Iterator[Scored]:
    """Run a sequence as the records of one new session."""
    session: Session | None = None
    for number, value in enumerate(found.values(), start=1):
        decision = admit(Record(0, number, SESSION_ID, None, value), settings)
        if isinstance(decision, Rejected):
            return
        session, outcome = step(session, decision, settings)
        if isinstance(outcome, Scored):
            yield outcome


def fired(row: Reachability, record: Scored, settings: DetectionSettings) -> bool:
    """Tell whether a rule fired at its level with a record."""
    name, rules = rules_of(row.rule)
    block = record.enriched["eddy"].get(name)
    return block is not None and rules.fires(row, record.decision, block, settings)


def _proof(row: Reachability, settings: DetectionSettings, run_at_most: int) -> Proof:
    if not row.reachable:
        return Proof(row, ProofFinding.OFF if row.disabled else ProofFinding.IMPOSSIBLE, None, row.why)
    found = witness(row, settings)
    if isinstance(found, Obstacle):
        finding = ProofFinding.IMPOSSIBLE if found.certain else ProofFinding.NOT_FOUND
        return Proof(row, finding, None, found.why)
    if found.records > run_at_most:
        why = f"{found.records} records are more than the {run_at_most} that are run"
        return Proof(row, ProofFinding.TOO_LONG, found, why)
    numbered = enumerate(scored(found, settings), start=1)
    at = next((number for number, record in numbered if fired(row, record, settings)), None)
    if at == found.records:
        return Proof(row, ProofFinding.PROVEN, found)
    instead = "does not make it fire" if at is None else f"makes it fire at record {at} already"
    why = f"its sequence of {found.records} records {instead}; please report this with the settings"
    return Proof(row, ProofFinding.REFUTED, found, why)

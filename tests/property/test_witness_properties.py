"""Whatever the settings: what is said to fire fires at the said record, and what is said not to does not."""

from collections.abc import Iterator

from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings

from streams.core.detectors.settings import DEFAULTS, DetectionSettings
from streams.core.domain.tool_class import PolicyMode
from streams.core.domain.witness import Witness
from streams.core.policy.witness import reachability, witness
from streams.core.proof import ProofFinding, fired, prove, scored
from tests.settings_strategy import settings

# specification 4.3 counts these differently: matching records only; as if any record could have any signal;
# as if every step of a stuck session added 2.
COUNTED_DIFFERENTLY = {"A3:escalation", "A5", "R7"}
LONGEST = 200
SLOW = hypothesis_settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


def adversaries(in_force: DetectionSettings) -> Iterator[Witness]:
    """Yield sequences that make other rules fire: those of these settings, and those of the defaults."""
    for under in (in_force, DEFAULTS):
        for row in reachability(under):
            if row.reachable and isinstance(found := witness(row, under), Witness):
                yield Witness(min(found.records + 3, 30), found.make)


@SLOW
@given(settings())
def test_a_sequence_fires_at_its_last_record_and_is_as_long_as_the_table_says(in_force):
    refuted, longer = [], []
    for proof in prove(in_force, LONGEST):
        about = f"{proof.row.rule} {proof.row.level} {proof.why}"
        if proof.finding is ProofFinding.REFUTED:
            refuted.append(about)
        if proof.witness is not None and proof.row.rule not in COUNTED_DIFFERENTLY:
            longer += [about] if proof.witness.records != proof.row.shortest else []
    assert (refuted, longer) == ([], [])


@SLOW
@given(settings())
def test_what_cannot_fire_does_not_fire_on_what_others_fire_on(in_force):
    dead = [
        proof for proof in prove(in_force, 0) if proof.finding in {ProofFinding.OFF, ProofFinding.IMPOSSIBLE}
    ]
    # For a tool with a policy R1 counts to the policy's limits; the table is about those of the settings.
    has_own_limits = any(policy.mode is not PolicyMode.exempt for policy in in_force.tool_policies)
    woken = {
        (proof.row.rule, proof.row.level, proof.why)
        for sequence in adversaries(in_force)
        for record in scored(sequence, in_force)
        for proof in dead
        if not (has_own_limits and proof.row.rule.startswith("R1")) and fired(proof.row, record, in_force)
    }
    assert woken == set()

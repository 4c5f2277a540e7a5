"""Each rule proves that it can fire, and what is not proven says why."""

from dataclasses import replace

import pytest

from streams.core.detectors.settings import DEFAULTS
from streams.core.domain.witness import Witness
from streams.core.proof import Proof, ProofFinding, prove, scored, sentence, warnings


def proof_of(settings, rule, level="WARNING", run_at_most=100) -> Proof:
    (found,) = (
        proof for proof in prove(settings, run_at_most) if (proof.row.rule, proof.row.level) == (rule, level)
    )
    return found


def test_under_the_defaults_everything_that_is_on_is_proven():
    unproven = {proof.row.rule: proof.finding for proof in prove(DEFAULTS)}
    unproven = {rule: finding for rule, finding in unproven.items() if finding is not ProofFinding.PROVEN}
    assert unproven == {"A2:system": ProofFinding.OFF, "A2:default": ProofFinding.OFF}
    assert warnings(DEFAULTS) == ()


def test_what_the_table_rules_out_is_impossible():
    found = proof_of(replace(DEFAULTS, entropy_window_size=4), "A1", "LOOP")
    assert (found.finding, found.is_dead, found.witness) == (ProofFinding.IMPOSSIBLE, True, None)
    assert sentence(found).startswith("A1 can never reach LOOP: entropy_window_size")


def test_what_other_settings_rule_out_is_impossible_too():
    (said,) = warnings(replace(DEFAULTS, read_tools=()))
    assert said == (
        "A3:read_loop can never reach WARNING: no lower-case tool name was found that fits read_tools, "
        "and not write_tools"
    )


def test_what_is_off_on_purpose_is_no_warning():
    settings = replace(DEFAULTS, verdict_enabled=False)
    found = proof_of(settings, "R1", "LOOP")
    assert (found.finding, found.is_dead) == (ProofFinding.OFF, False)
    assert warnings(settings) == ()


def test_a_long_sequence_is_not_run_and_says_so():
    settings = replace(DEFAULTS, identical_loop=1000)
    found = proof_of(settings, "R1", "LOOP")
    assert (found.finding, found.is_dead) == (ProofFinding.TOO_LONG, False)
    assert sentence(found) == (
        "R1 is not proven to reach LOOP: 1000 records are more than the 100 that are run"
    )
    assert proof_of(settings, "R1", "LOOP", 1000).finding is ProofFinding.PROVEN


@pytest.mark.parametrize(
    ("step", "said"),
    [(-1, "does not make it fire"), (+1, "makes it fire at record 4 already")],
)
def test_a_sequence_that_does_not_do_what_it_should_is_reported(monkeypatch, step, said):
    def wrong(row, settings):
        found = right(row, settings)
        return Witness(found.records + step, found.make)

    right = prove.__globals__["witness"]
    monkeypatch.setattr("streams.core.proof.witness", wrong)
    found = proof_of(DEFAULTS, "R1", "LOOP")
    assert (found.finding, found.is_dead) == (ProofFinding.REFUTED, True)
    assert said in found.why
    assert sentence(found).startswith("R1 did not reach LOOP: its sequence of ")


def test_a_record_that_is_not_valid_ends_a_sequence():
    broken = Witness(2, lambda number: {"session_id": "witness"})
    assert list(scored(broken, DEFAULTS)) == []

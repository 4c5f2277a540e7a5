"""`eddy config explain`: which rules can fire under the settings, and on what."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import click

from streams.cli.command_group import PROBLEM_FOUND
from streams.cli.settings_change import AS_JSON, BOOTSTRAP
from streams.cli.settings_file import named_settings
from streams.cli.text.explanation_text import lines
from streams.cli.text.screen import echo_json, echo_lines
from streams.core.detectors.settings import DEFAULTS, DetectionSettings
from streams.core.domain.topic import Topic
from streams.core.proof import Proof, ProofFinding, prove
from streams.operate.explain.settings_topic import in_force, read

#: Records of a sequence that the proof runs, and that JSON shows, at most.
RUN_AT_MOST = 2_000


_FOUND = {
    ProofFinding.PROVEN: "can fire",
    ProofFinding.TOO_LONG: "not run",
    ProofFinding.OFF: "off on purpose",
    ProofFinding.IMPOSSIBLE: "cannot fire",
    ProofFinding.NOT_FOUND: "not known to fire",
    ProofFinding.REFUTED: "did not fire as they should",
}


@click.command()
@click.argument("rule", required=False)
@click.option(
    "--settings",
    "source",
    metavar="FILE|live|defaults",
    default="live",
    show_default=True,
    help="A JSON document of settings that differ from the defaults; those in force; the defaults.",
)
@AS_JSON
@BOOTSTRAP
def explain(rule: str | None, source: str, as_json: bool, bootstrap_servers: str | None) -> None:
    """Print which rules can fire, after how many records, and on what.

    For each rule and level: the shortest sequence of records that triggers it under the settings, which was
    run to prove it; or the settings that are in the way. RULE is a name such as A1, A3:read_loop or R2, with
    all that belongs to it.

    Exit status 1 when a rule cannot fire that is not switched off on purpose.

    \b
    Examples:
      eddy config explain
      eddy config explain R2:period4 --settings strict.json
      eddy config explain --settings defaults --json |
          jq '.rules[] | select(.finding != "proven")'
    """  # noqa: D301
    settings = _settings(source, bootstrap_servers)
    proofs = prove(settings, RUN_AT_MOST)
    asked = proofs if rule is None else tuple(proof for proof in proofs if _belongs(proof, rule))
    if not asked:
        names = ", ".join(dict.fromkeys(proof.row.rule for proof in proofs))
        raise click.UsageError(f"There is no rule {rule}. Rules: {names}.")
    if as_json:
        echo_json({"version": settings.version, "rules": list(map(_fields, asked))})
    else:
        echo_lines(_text(settings, asked))
    if any(proof.is_dead for proof in asked):
        raise click.exceptions.Exit(PROBLEM_FOUND)


def _settings(source: str, bootstrap_servers: str | None) -> DetectionSettings:
    match source:
        case "live":
            [stored] = asyncio.run(read(bootstrap_servers, Topic.DETECTOR_CONFIG))
            return in_force(stored)
        case "defaults":
            return DEFAULTS
        case path:
            return named_settings(Path(path))


def _belongs(proof: Proof, rule: str) -> bool:
    name, asked = proof.row.rule.lower(), rule.lower()
    return name == asked or name.startswith(f"{asked}:")


def _text(settings: DetectionSettings, proofs: Iterable[Proof]) -> Iterator[str]:
    counted = Counter(_FOUND[proof.finding] for proof in proofs)
    summary = ", ".join(f"{count} {found}" for found, count in counted.items())
    yield f"settings version {settings.version}: {summary}"
    for proof in proofs:
        yield ""
        yield heading(proof)
        if proof.witness is not None:
            yield from (f"    {line}" for line in lines(proof.witness))


def heading(proof: Proof) -> str:
    """Return what is known of a rule and level in one line."""
    row, witness = proof.row, proof.witness
    name = f"{row.rule} {row.level}"
    if witness is None:
        found = "is off" if proof.finding is ProofFinding.OFF else _FOUND[proof.finding]
        return f"{name} {found}: {proof.why}"
    at = f"{name} fires at record {witness.records}"
    if row.counted:
        at += f", which {row.counted}"
    return at if proof.finding is ProofFinding.PROVEN else f"{at}; not proven: {proof.why}"


def _fields(proof: Proof) -> dict[str, Any]:
    witness = proof.witness
    return {
        "rule": proof.row.rule,
        "level": proof.row.level,
        "finding": proof.finding,
        "why": proof.why or None,
        "shortest": proof.row.shortest,
        "records": None if witness is None else witness.records,
        "sequence": None if witness is None else list(islice(witness.values(), RUN_AT_MOST)),
    }

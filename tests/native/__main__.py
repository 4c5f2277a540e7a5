"""`make fuzz-native`: the native core and Python over as many records of hostile texts as you like.

python -m tests.native [--texts 1000000] [--seed 0]
"""

from __future__ import annotations

import argparse
import random

import click

from tests.native import agreement
from tests.native.texts import Texts


def main() -> None:
    """Compare, and print how many texts were compared and what was left to Python."""
    parser = argparse.ArgumentParser(prog="make fuzz-native", description=__doc__.splitlines()[0])
    parser.add_argument("--texts", type=int, default=1_000_000, help="how many (1000000)")
    parser.add_argument("--seed", type=int, default=0, help="of the texts (0)")
    asked = parser.parse_args()
    chance = random.Random(asked.seed)
    texts = Texts(chance)
    records = left = compared = marks = 0
    earlier = ""
    while compared < asked.texts:
        known = texts.known()
        try:
            left += agreement.on_decision(known)
            agreement.on_validity(known)
            newest = str(agreement.NativeDecision.of(0, 0, known).step_marks)
            marks += agreement.on_sets(newest, earlier)
        except BaseException:
            click.echo(f"record {records} of seed {asked.seed}: {known!r}", err=True)
            raise
        earlier = newest
        records += 1
        given = (*known["action"].values(), (known.get("cognition") or {}).get("intent"))
        compared += sum(isinstance(text, str) for text in given)
    click.echo(
        f"{compared:,} texts in {records:,} records of seed {asked.seed}: no difference; "
        f"{left:,} records ({left / records:.1%}) and {marks:,} comparisons were left to Python."
    )


if __name__ == "__main__":
    main()

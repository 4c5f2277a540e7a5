"""What each recording shows, and what Eddy tells about it under its default settings."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from streams.formats import jsonl, recorded_messages


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """One recorded file.

    Attributes:
        name: name of the file, without its ending.
        shows: what happens in it, for people.
        goes_in_circles: the truth about it, as a person sees it.
        findings: what is told today under the default settings: ``loop_episode`` (the verdict, at WARNING or
            LOOP), ``entropy_alert``, ``divergence_suspected``, or the pattern of a ``drift_pattern``. Where
            this disagrees with ``goes_in_circles``, ``shows`` says why.
        records: how many messages it has, ``rejected`` ones included.
        rejected: how many of them break the contract.
    """

    name: str
    shows: str
    goes_in_circles: bool
    findings: frozenset[str]
    records: int
    rejected: int = 0
    input_format: str = jsonl.FORMAT.name

    @property
    def path(self) -> Path:
        """The file."""
        return Path(__file__).parent / f"{self.name}.jsonl"


def _healthy(name: str, records: int, shows: str, *findings: str) -> Recording:
    return Recording(
        name=name, shows=shows, goes_in_circles=False, findings=frozenset(findings), records=records
    )


def _circular(name: str, records: int, shows: str, *findings: str) -> Recording:
    return Recording(
        name=name, shows=shows, goes_in_circles=True, findings=frozenset(findings), records=records
    )


RECORDINGS: Final = (
    _healthy("healthy_bugfix", 31, "A coding agent finds and fixes a bug, tests first."),
    _healthy("healthy_feature", 30, "A coding agent adds an endpoint and a button, with other tools."),
    _healthy(
        "healthy_refactor",
        30,
        "A coding agent splits a module. It reads three different files in a row: the repeat rule looks at "
        "the name of the tool alone and suspects that, which is a false alarm.",
        "divergence_suspected",
    ),
    _healthy("healthy_upgrade", 26, "A coding agent upgrades a library and repairs service after service."),
    _healthy("healthy_research", 25, "A research agent searches, reads, notes and writes one page."),
    _healthy("healthy_analysis", 26, "An analyst agent narrows a drop in sales down to its two causes."),
    _circular(
        "edit_test_loop",
        23,
        "A coding agent changes the rounding again and again; the same test fails with the same error. Each "
        "edit is a new one, so the verdict stays calm: work towards a fix looks the same for a while.",
        "test_fail_loop",
    ),
    _circular(
        "read_loop",
        18,
        "A coding agent reads one unchanged file over and over instead of following the hint in it.",
        "loop_episode",
        "entropy_alert",
        "divergence_suspected",
        "read_loop",
    ),
    _circular(
        "flip_flop",
        23,
        "A coding agent removes an import and puts it back, A-B-A-B: each of two errors leads to the other.",
        "loop_episode",
        "edit_revert",
    ),
    _circular(
        "same_call",
        18,
        "A support agent repeats one search that finds nothing, nine times, then finds its way out.",
        "loop_episode",
        "entropy_alert",
        "divergence_suspected",
    ),
    _circular(
        "paraphrased_loop",
        15,
        "A research agent rewords one search thirteen times and gets the same three rows. Every step differs "
        "in its words; that the result never does gives it away.",
        "loop_episode",
        "divergence_suspected",
    ),
    _healthy("polling", 17, "An operator agent waits for a rollout and looks at it every 75 s or so."),
    _healthy(
        "rate_limit_retry", 19, "An operator agent is rate limited, backs off as it should and goes on."
    ),
    Recording(
        name="broken",
        shows="A good session among messages that break the contract in fourteen ways; two are odd but fine.",
        goes_in_circles=False,
        findings=frozenset(),
        records=24,
        rejected=14,
        input_format=recorded_messages.FORMAT.name,
    ),
)
"""Every recording, in the order of the documentation."""

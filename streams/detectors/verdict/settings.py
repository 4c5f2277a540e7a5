"""The settings of the verdict: its rules with their limits, and what is exempt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from streams.domain.settings.general import STATUSES, GeneralSettings
from streams.domain.settings.ordered_group import OrderedGroup
from streams.domain.settings.range import flag, number, subset, whole
from streams.domain.settings.setting import setting
from streams.domain.settings.tool_classes import ToolClassSettings
from streams.domain.settings.tools import policies
from streams.domain.tool_policy import ToolPolicy


@dataclass(frozen=True, kw_only=True)
class VerdictSettings(GeneralSettings, ToolClassSettings):
    """The rows of specification 4.1, units as there.

    Five of them are additions to the requirements and have no effect by default (docs/quality.md says what
    they are worth): `same_error_similarity`, and the limits of R6 (`nothing_new_warn`, `nothing_new_loop`)
    and of R8 (`stalled_warn`, `stalled_loop`), which count if `verdict_rules` has them.
    """

    ordered_groups: ClassVar[tuple[OrderedGroup, ...]] = (
        OrderedGroup(("identical_warn", "identical_loop")),
        OrderedGroup(("identical_failing_warn", "identical_failing_loop")),
        OrderedGroup(("cycle_warn", "cycle_loop")),
        OrderedGroup(("same_error_warn", "same_error_loop")),
        OrderedGroup(("same_result_warn", "same_result_loop")),
        OrderedGroup(("near_duplicate_warn", "near_duplicate_loop")),
        OrderedGroup(("nothing_new_warn", "nothing_new_loop")),
        OrderedGroup(("stalled_warn", "stalled_loop")),
        OrderedGroup(("stuck_warn", "stuck_loop")),
    )

    verdict_enabled: bool = setting(True, flag(), "Compute the verdict at all.")
    verdict_window: int = setting(30, whole(6, 1_000), "Records that the rules of the verdict look back on.")
    verdict_statuses: tuple[str, ...] = setting(
        ("success", "failure", "skipped"),
        subset(STATUSES),
        "Statuses of the records that the verdict counts.",
    )
    verdict_rules: tuple[str, ...] = setting(
        ("R1", "R2", "R4", "R5", "R7"),
        subset(("R1", "R2", "R3", "R4", "R5", "R6", "R7", "R8")),
        "Rules of the verdict that are on.",
    )
    identical_warn: int = setting(
        2, whole(2, 1_000), "R1: equal calls with equal results in a row for WARNING."
    )
    identical_loop: int = setting(4, whole(2, 1_000), "R1: equal calls with equal results in a row for LOOP.")
    identical_failing_warn: int = setting(2, whole(2, 1_000), "R1: as identical_warn, if the calls fail.")
    identical_failing_loop: int = setting(3, whole(2, 1_000), "R1: as identical_loop, if the calls fail.")
    cycle_max_period: int = setting(5, whole(2, 5), "R2: steps of the longest cycle.")
    cycle_warn: int = setting(2, whole(2, 1_000), "R2: rounds for WARNING.")
    cycle_loop: int = setting(3, whole(2, 1_000), "R2: rounds for LOOP.")
    same_error_warn: int = setting(
        4, whole(2, 1_000), "R3: failures of one tool with the same error for WARNING."
    )
    same_error_loop: int = setting(
        6, whole(2, 1_000), "R3: failures of one tool with the same error for LOOP."
    )
    same_error_similarity: float = setting(
        0.0, number(0, 1), "R3: least share of words that neighbouring calls have in common; 0 is any."
    )
    same_result_warn: int = setting(4, whole(2, 1_000), "R4: equal results of one tool in a row for WARNING.")
    same_result_loop: int = setting(5, whole(2, 1_000), "R4: equal results of one tool in a row for LOOP.")
    near_duplicate_similarity: float = setting(
        0.8, number(0, 1, above=True), "R5: similarity from which on calls and results count as the same."
    )
    near_duplicate_warn: int = setting(4, whole(2, 1_000), "R5: nearly equal calls in a row for WARNING.")
    near_duplicate_loop: int = setting(6, whole(2, 1_000), "R5: nearly equal calls in a row for LOOP.")
    nothing_new_warn: int = setting(3, whole(2, 1_000), "R6: records without anything new for WARNING.")
    nothing_new_loop: int = setting(5, whole(2, 1_000), "R6: records without anything new for LOOP.")
    stuck_warn: float = setting(3.0, number(0, 8, above=True), "R7: stuck score for WARNING.")
    stuck_loop: float = setting(5.0, number(0, 8, above=True), "R7: stuck score for LOOP.")
    stalled_warn: int = setting(7, whole(2, 1_000), "R8: steps that tell nothing new for WARNING.")
    stalled_loop: int = setting(9, whole(2, 1_000), "R8: steps that tell nothing new for LOOP.")
    poll_gap_ms: int = setting(
        60_000,
        whole(0, 86_400_000),
        "Pause between equal calls from which on they are polling, ms; 0 exempts none.",
    )
    recover_records: int = setting(3, whole(1, 1_000), "Records without the loop that end an episode.")
    tool_policies: tuple[ToolPolicy, ...] = setting(
        (),
        policies(whole(2, 100_000)),
        "Tools that are exempt, may poll, or have limits of their own, by pattern.",
    )

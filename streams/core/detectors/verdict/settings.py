"""The settings of the verdict: its rules with their limits, what is exempt, which policy a tool has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from streams.core.domain.settings.general import STATUSES, GeneralSettings
from streams.core.domain.settings.setting import OrderedGroup, flag, number, phrases, setting, subset, whole
from streams.core.domain.settings.tool_classes import ToolClassSettings
from streams.core.domain.settings.tools import policies
from streams.core.domain.tool_class import ToolPolicy, first_policy

#: The rules of the verdict.
RULES = ("R1", "R2", "R7", "R9")


@dataclass(frozen=True, kw_only=True)
class VerdictSettings(GeneralSettings, ToolClassSettings):
    """The rows of specification 4.1, units as there."""

    ordered_groups: ClassVar[tuple[OrderedGroup, ...]] = (
        OrderedGroup(("identical_warn", "identical_loop")),
        OrderedGroup(("identical_failing_warn", "identical_failing_loop")),
        OrderedGroup(("cycle_warn", "cycle_loop")),
        OrderedGroup(("stuck_warn", "stuck_loop")),
        OrderedGroup(("waiting_warn_minutes", "waiting_loop_minutes")),
    )

    verdict_enabled: bool = setting(True, flag(), "Compute the verdict at all.")
    verdict_window: int = setting(30, whole(6, 1_000), "Records that the rules of the verdict look back on.")
    verdict_statuses: tuple[str, ...] = setting(
        ("success", "failure", "skipped"),
        subset(STATUSES),
        "Statuses of the records that the verdict counts.",
    )
    verdict_rules: tuple[str, ...] = setting(
        RULES,
        subset(RULES),
        "Rules of the verdict that are on.",
    )
    identical_warn: int = setting(
        3, whole(2, 1_000), "R1: equal calls with equal results in a row for WARNING."
    )
    identical_loop: int = setting(4, whole(2, 1_000), "R1: equal calls with equal results in a row for LOOP.")
    identical_failing_warn: int = setting(3, whole(2, 1_000), "R1: as identical_warn, if the calls fail.")
    identical_failing_loop: int = setting(4, whole(2, 1_000), "R1: as identical_loop, if the calls fail.")
    cycle_max_period: int = setting(60, whole(2, 60), "R2: steps of the longest cycle.")
    cycle_warn: int = setting(2, whole(2, 1_000), "R2: rounds for WARNING.")
    cycle_loop: int = setting(3, whole(2, 1_000), "R2: rounds for LOOP.")
    stuck_warn: float = setting(3.0, number(0, 8, above=True), "R7: stuck score for WARNING.")
    stuck_loop: float = setting(5.0, number(0, 8, above=True), "R7: stuck score for LOOP.")
    waiting_warn_minutes: int = setting(
        10, whole(1, 100_000), "R9: minutes of waiting from which nothing new came for WARNING."
    )
    waiting_loop_minutes: int = setting(
        60, whole(1, 100_000), "R9: minutes of waiting from which nothing new came for LOOP."
    )
    poll_gap_ms: int = setting(
        60_000,
        whole(0, 86_400_000),
        "Pause between neighbours after which a repeated call is no loop, ms; 0 exempts none.",
    )
    failure_gap_ms: int = setting(
        600_000,
        whole(0, 86_400_000),
        "As poll_gap_ms, if the call fails: failing slowly is a loop for longer, ms.",
    )
    refusal_phrases: tuple[str, ...] = setting(
        (), phrases(), "Further phrases by which an error is a refusal, such as those of your own guard."
    )
    recover_records: int = setting(3, whole(1, 1_000), "Records without the loop that end an episode.")
    tool_policies: tuple[ToolPolicy, ...] = setting(
        (),
        policies(whole(2, 100_000)),
        "Tools that are exempt, may poll, or have limits of their own, by pattern.",
    )


_PATIENT_WARN, _PATIENT_LOOP = 10, 20


def policy_of(tool: str | None, settings: VerdictSettings) -> ToolPolicy | None:
    """Return the first of `tool_policies` whose glob fits the lower-cased name, None when none does."""
    policies = settings.tool_policies
    if not policies or tool is None:
        return None
    return first_policy(tool, policies)


def limits_of(
    policy: ToolPolicy | None, *, failed: bool, acknowledged: bool, settings: VerdictSettings
) -> tuple[int, int]:
    """Return warn and loop of rule R1 for a tool under this policy, in records.

    An action that was only acknowledged may be repeated for good reasons: the next page, the next field.

    >>> DEFAULTS = VerdictSettings()
    >>> from streams.core.domain.tool_class import PolicyMode
    >>> polling = ToolPolicy("get_*", PolicyMode.polling, warn=None, loop=5)
    >>> limits_of(polling, failed=True, acknowledged=False, settings=DEFAULTS)
    (10, 10)
    >>> limits_of(None, failed=True, acknowledged=False, settings=DEFAULTS)
    (3, 4)
    """
    if policy is not None:
        warn = policy.warn or _PATIENT_WARN
        return warn, max(policy.loop or _PATIENT_LOOP, warn)
    if acknowledged:
        return _PATIENT_WARN, _PATIENT_LOOP
    if failed:
        return settings.identical_failing_warn, settings.identical_failing_loop
    return settings.identical_warn, settings.identical_loop

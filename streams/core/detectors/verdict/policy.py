"""Which of the operator's policies holds for a tool (specification 6.2)."""

from __future__ import annotations

from streams.core.detectors.verdict.settings import VerdictSettings
from streams.core.domain.tool_policy import ToolPolicy, first_policy

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
    >>> from streams.core.domain.tool_policy import PolicyMode
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

"""The versions of the policy: which document is in force, and which are ignored, with the reason. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from streams.console.read_model.rows import VersionRow
from streams.console.settings_versions import document_of
from streams.core.domain.topic import Topic
from streams.core.policy.intervention import Policy
from streams.core.policy.intervention_document import read


class PolicyVersion(NamedTuple):
    """A document, the policy after it, and why it is ignored; empty if it is followed."""

    row: VersionRow
    after: Policy
    ignored: str


def policy_versions(rows: Iterable[VersionRow]) -> tuple[PolicyVersion, ...]:
    """Return every document on `intervention-policy`, oldest first. A wrong one changes nothing."""
    ours = (row for row in rows if row.topic == Topic.INTERVENTION_POLICY)
    return _followed(tuple(sorted(ours, key=lambda each: each.offset)))


@lru_cache(maxsize=8)
def _followed(rows: tuple[VersionRow, ...]) -> tuple[PolicyVersion, ...]:
    """Return what documents do one after another; kept, since every alert asks for it."""
    found: list[PolicyVersion] = []
    policy = Policy()
    for row in rows:
        parsed = document_of(row, policy.version)
        if isinstance(parsed, str):
            found.append(PolicyVersion(row, policy, parsed))
            continue
        version, document = parsed
        after, problems = read(document, version)
        policy = policy if problems else after
        found.append(PolicyVersion(row, policy, " ".join(problems)))
    return tuple(found)


def in_force(versions: tuple[PolicyVersion, ...]) -> Policy:
    """Return the policy in force, which is off if there is none."""
    return versions[-1].after if versions else Policy()


def next_document(
    before: Policy, given: Mapping[str, Any], version: int, changed: Mapping[str, Any]
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the next document, and what is wrong with it."""
    body = {name: value for name, value in given.items() if name not in ("version", "changed")}
    _, problems = read(body, version)
    return {"version": version, "changed": {**changed, "before": before.version}, **body}, problems

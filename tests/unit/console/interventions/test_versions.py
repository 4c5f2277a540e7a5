"""A wrong document changes nothing, and says why."""

from typing import Any

import orjson

from streams.console.interventions.versions import in_force, next_document, policy_versions
from streams.console.read_model.rows import VersionRow
from streams.core.domain.topic import Topic
from streams.core.policy.intervention import Mode, Policy
from tests.unit.console.interventions.test_decided import AT


def version(offset: int, document: dict[str, Any] | None) -> VersionRow:
    body = None if document is None else orjson.dumps(document).decode()
    return VersionRow(str(Topic.INTERVENTION_POLICY), offset, AT, 0, None, None, None, body)


def test_a_wrong_document_leaves_the_policy_before_it_in_force() -> None:
    rows = [
        version(2, {"version": 2, "mode": "alive"}),
        version(1, {"version": 1, "mode": "dry_run", "rules": []}),
        version(3, None),
        version(4, {"version": 1, "mode": "off"}),
    ]
    found = policy_versions(rows)
    assert in_force(found) == Policy(version=1, mode=Mode.DRY_RUN)
    assert [bool(each.ignored) for each in found] == [False, True, True, True]
    assert in_force(policy_versions([*rows, version(5, {"version": 2, "mode": "off"})])).mode is Mode.OFF


def test_the_next_document_names_the_one_before_and_what_is_wrong_with_it() -> None:
    before, changed = Policy(version=4), {"at": AT, "by": "ana", "why": "it costs too much"}
    document, problems = next_document(before, {"mode": "live", "rules": [], "version": 99}, 5, changed)
    assert problems == ()
    assert document == {"version": 5, "changed": {**changed, "before": 4}, "mode": "live", "rules": []}
    assert next_document(before, {"mode": "on"}, 5, changed)[1] == ("mode: must be off, dry_run or live.",)

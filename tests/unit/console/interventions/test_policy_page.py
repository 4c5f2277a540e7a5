"""The page of the policy: what to do if there is nothing, what counts, and what would have come of it."""

from pathlib import Path
from typing import Any

import orjson

from streams.console.interventions.decided import audit_of, event_of
from streams.core.domain.topic import Topic
from streams.core.policy.intervention import Breaker, InterventionAct, Withheld
from tests.unit.console.following import following
from tests.unit.console.interventions.test_decided import AT, POLICY, RULE, fields, later, over
from tests.unit.console.told import Told, Topics

NOW = AT + 60_000


def published(topics: Topics, version: int = 3, **given: Any) -> Told:
    document = {
        "version": version,
        "changed": {"at": AT, "by": "ana", "why": "<b>costly</b> nights"},
        "mode": "dry_run",
        "rules": [{"name": "costly", "do": {"action": "pause"}}],
        **given,
    }
    return topics.told(Topic.INTERVENTION_POLICY, "settings", document, AT)


def alert(topics: Topics, told: dict[str, Any]) -> Told:
    given = {"id": f"{told['session_id']}/0/{told['offset']}/loop_episode/{told['phase']}", "event_id": "x"}
    return topics.told(Topic.SESSION_ALERTS, told["session_id"], {**told, **given}, AT)


def decision(topics: Topics, name: str, withheld: str = "") -> Told:
    event = event_of(fields(name), None, AT)
    assert event is not None
    found = (
        Withheld(RULE, 0, f"id of {name}", withheld, Breaker.RULE)
        if withheld
        else InterventionAct(RULE, 0, f"id of {name}")
    )
    record = audit_of(found, event, POLICY, fields(name), "it loops")
    told: dict[str, Any] = orjson.loads(orjson.dumps(record.fields()))
    return topics.told(Topic.CONSOLE_ACTIONS, record.key.decode(), told, AT)


async def test_before_the_first_version_the_page_says_what_it_means_and_what_to_do(tmp_path: Path) -> None:
    async with following(tmp_path, [], NOW) as reader:
        page = await reader.page("/policy")
    for told in ("No policy is in force", "EDDY_CONSOLE_AUTOMATIC=true", "Begin with a dry run"):
        assert told in page
    assert "costly-loops" in page  # the example in the form


async def test_sessions_that_looped_on_are_told_from_those_paused_in_vain(tmp_path: Path) -> None:
    topics = Topics()
    records = [
        published(topics),
        *(alert(topics, told) for told in (fields("a"), later("a"), fields("b"), over("b", 9))),
        decision(topics, "a"),
        decision(topics, "b"),
        decision(topics, "c"),
    ]
    async with following(tmp_path, records, NOW, console_automatic=True) as reader:
        found: Any = await reader.json("/policy")
        page = await reader.page("/policy")
    [score] = found["scores"]
    assert (score["acted"], score["went_on"], score["recovered"], score["open"]) == (3, 1, 1, 1)
    assert (score["tokens"], score["cost"]) == (8_000, 1.5)
    assert [each["session_id"] for each in found["in_vain"]] == ["of b"]
    assert page.count("/session?id=of+b") == 2
    assert "&lt;b&gt;costly&lt;/b&gt; nights" in page
    assert "no longer held" in page
    assert "This console runs no policy" not in page


async def test_an_open_breaker_heads_the_inbox_until_a_version_is_published_again(tmp_path: Path) -> None:
    topics = Topics()
    records = [published(topics), decision(topics, "a"), decision(topics, "b", "its <i>limit</i>")]
    async with following(tmp_path / "before", records, NOW) as reader:
        for path in ("/alerts", "/policy"):
            page = await reader.page(path)
            assert "The breaker of costly is open:</strong> its &lt;i&gt;limit&lt;/i&gt;" in page
    async with following(tmp_path / "after", [*records, published(topics, 4)], NOW) as reader:
        for path in ("/alerts", "/policy"):
            assert "The breaker of" not in await reader.page(path)


async def test_prometheus_is_told_of_an_open_breaker_if_the_policy_is_live(tmp_path: Path) -> None:
    held_back = [decision(topics := Topics(), "a"), decision(topics, "b", "its limit")]
    for mode, counted in (("live", 1), ("dry_run", 0)):
        records = [published(topics, mode=mode), *held_back]
        async with following(tmp_path / mode, records, NOW) as reader:
            assert f"eddy_console_breakers_open {counted}.0\n" in await reader.page("/metrics")


async def test_a_viewer_sees_the_document_in_force_and_no_form(tmp_path: Path) -> None:
    async with following(tmp_path, [published(Topics())], NOW, viewer=True) as reader:
        page = await reader.page("/policy")
    assert "&#34;name&#34;: &#34;costly&#34;" in page
    assert "Operators may publish another one" in page
    assert "/actions/policy" not in page


async def test_a_document_that_is_wrong_is_named_in_the_history_and_changes_nothing(tmp_path: Path) -> None:
    topics = Topics()
    records = [published(topics, 3), published(topics, 4, mode="alive")]
    async with following(tmp_path, records, NOW) as reader:
        page = await reader.page("/policy")
    assert "Version 3 is in force" in page
    assert "mode: must be off, dry_run or live." in page

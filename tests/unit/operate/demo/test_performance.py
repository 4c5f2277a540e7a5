"""The demo's book-keeping: nothing counts twice, and what does not come back is lost."""

from collections.abc import Iterable
from typing import Any

import pytest

from streams.operate.demo.performance import DemoAccount


def enriched(
    partition: int,
    offset: int,
    events: Iterable[tuple[str, str]] = (),
    session: str = "s",
    level: str = "LOOP",
) -> dict[str, Any]:
    """Return an enriched record that tells of (event type, sub) events."""
    key = f"{session}/{partition}/{offset}"
    told = [{"event_type": kind, "id": f"{key}/{kind}{sub}", "level": level} for kind, sub in events]
    return {"session_id": session, "eddy": {"id": f"{key}/score", "events": told}}


@pytest.fixture
def account() -> DemoAccount:
    """Return the account of three records sent."""
    return DemoAccount(sent={(0, 0), (0, 1), (1, 0)})


def test_everything_is_lost_until_it_comes_back(account: DemoAccount) -> None:
    assert account.lost == 3
    account.enriched(enriched(0, 0))
    account.dead_letter(0, 1, "key")
    assert account.lost == 1
    account.enriched(enriched(1, 0))
    assert account.lost == 0


def test_what_comes_twice_counts_once(account: DemoAccount) -> None:
    assert account.enriched(enriched(0, 0))
    assert not account.enriched(enriched(0, 0))
    for _ in range(2):
        account.dead_letter(0, 1, "key")
    alert = {"id": "s/0/0/entropy_alert"}
    assert account.alert(alert)
    assert not account.alert(alert)
    assert (len(account.scored), len(account.dead), len(account.alerts), account.lost) == (1, 1, 1, 1)


@pytest.mark.parametrize("kind", ["entropy_alert", "loop_episode", "divergence_suspected", "drift_pattern"])
def test_an_alert_that_was_announced_and_does_not_come_is_lost(kind: str) -> None:
    account = DemoAccount(sent={(0, 0)})
    account.enriched(enriched(0, 0, [(kind, "")]))
    assert account.lost == 1
    account.alert({"id": f"s/0/0/{kind}"})
    assert account.lost == 0


@pytest.mark.parametrize("kind", ["budget", "response"])
def test_advice_that_was_announced_and_does_not_come_is_lost(kind: str) -> None:
    account = DemoAccount(sent={(0, 0)})
    account.enriched(enriched(0, 0, [(kind, "")]))
    assert account.lost == 1
    account.advised({"id": f"s/0/0/{kind}"})
    assert (account.lost, len(account.alerts), len(account.advice)) == (0, 0, 1)


@pytest.mark.parametrize(("kind", "level"), [("node_state", "LOOP"), ("loop_episode", "WARNING")])
def test_an_event_that_comes_nowhere_else_is_not_waited_for(kind: str, level: str) -> None:
    account = DemoAccount(sent={(0, 0)})
    account.enriched(enriched(0, 0, [(kind, "/x")], level=level))
    assert account.lost == 0


def test_an_alert_may_come_before_the_record_that_announces_it() -> None:
    account = DemoAccount(sent={(0, 0)})
    account.alert({"id": "s/0/0/entropy_alert"})
    account.enriched(enriched(0, 0, [("entropy_alert", "")]))
    assert account.lost == 0


def test_a_session_is_known_by_its_newest_record(account: DemoAccount) -> None:
    for offset in range(2):
        account.enriched(enriched(0, offset))
    account.enriched(enriched(1, 0, session="other"))
    assert {session: block["id"] for session, block in account.sessions.items()} == {
        "s": "s/0/1/score",
        "other": "other/1/0/score",
    }

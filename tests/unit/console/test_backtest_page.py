"""The page of a backtest moves while it runs, and ends up as a page that is loaded afterwards."""

from pathlib import Path
from typing import Any, cast

from streams.console.app import Routes
from streams.console.auth import Identity
from streams.console.auth.identity import Role
from streams.console.backtests import BacktestJob, Backtests
from streams.console.console import Console
from streams.console.views.backtest import screen
from streams.kafka.client import Brokers
from tests.unit.console.following import Reader, following

NOW = 1_760_000_000_000
RELOADS = '<noscript><meta http-equiv="refresh" content="2"></noscript>'
OPERATOR = Identity("ana", Role.OPERATOR, "cookie", may_act=True)
SUMMARY: dict[str, Any] = {
    "records": 6,
    "differing": 0,
    "sessions": 1,
    "differing_sessions": 0,
    "loops": {"both": 0, "a": 0, "b": 0},
    "earlier": 0,
    "later": 0,
    "alerts_a": {},
    "alerts_b": {},
    "rejected": 0,
    "unreadable": 0,
}


async def test_what_is_sent_while_a_backtest_runs_is_what_its_page_shows(tmp_path: Path) -> None:
    tests = Backtests(cast("Brokers", None), "", lambda: NOW)  # it begins none
    tests.kept["1"] = test = BacktestJob("1", "ana", NOW, 1, {"cycle_loop": 5}, 0, records=6, held=6)
    shown, consoles = screen(tests), list[Console]()
    assert shown.live is not None

    def routes(console: Console) -> Routes:
        consoles.append(console)
        return shown.routes(console)

    async def parts(who: Identity = OPERATOR) -> dict[str, str]:
        assert shown.live is not None
        view = await shown.live(consoles[0], {"id": "1"}, who, NOW)
        assert view is not None
        return {name: view.parts[name] for name in ("back", "outcome")}

    async def page(reader: Reader) -> str:
        return await reader.page("/settings/backtest?id=1")

    async with following(tmp_path, [], NOW, beside=routes) as reader:
        running, sent = await page(reader), await parts()
        assert all(part in running for part in sent.values())
        assert RELOADS in running
        assert "0 of 6 records" in sent["outcome"]
        assert 'form="cancel"' in sent["outcome"]
        assert "csrf" not in sent["outcome"]  # what is sent is the same for all operators
        assert 'form="cancel"' not in (await parts(OPERATOR._replace(may_act=False)))["outcome"]
        test.judged = 4
        assert "4 of 6 records" in (await parts())["outcome"]
        test.summary, test.ended = SUMMARY, NOW
        ended, sent = await page(reader), await parts()
        assert all(part in ended for part in sent.values())
        assert "No session would differ" in sent["outcome"]
        assert "backtest=1" in sent["back"]
        assert "refresh" not in ended
        assert await shown.live(consoles[0], {"id": "2"}, OPERATOR, NOW) is None

"""Judging a session again costs CPU: nobody may have more of it than their share."""

from pathlib import Path

import pytest

from streams.console.auth import middleware as door
from streams.console.auth.policy import Rate
from tests.unit.console.auth.door_server import ANA, VIC, Asking
from tests.unit.console.test_hidden_texts import console

PAGE = {"Accept": "text/html", "Sec-Fetch-Mode": "navigate"}


async def cookie(asking: Asking, token: str) -> dict[str, str]:
    login = await asking("POST", "/login", {"Sec-Fetch-Site": "same-origin"}, token=token)
    return {"Cookie": login.headers["Set-Cookie"].partition(";")[0]}


async def test_who_judges_too_many_records_in_a_minute_is_told_to_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with console(tmp_path) as (asking, board):
        path = f"/session?id={board.ids[0]}&tab=what-if"
        held = len((await board.steps(board.ids[0], before=None, limit=2_000)).steps)
        monkeypatch.setattr(door, "WHAT_IF", Rate("what-if", 2 * held, "so many records for each user"))
        ana, vic = await cookie(asking, ANA), await cookie(asking, VIC)
        answers = [await asking("GET", path, {**ana, **PAGE}) for _ in range(3)]
        assert [each.status for each in answers] == [200, 200, 429]
        assert answers[2].headers["Retry-After"]
        # The sliders stay where they are, and the answer says why it is empty.
        assert "so many records for each user" in answers[2].text
        assert 'type="range"' in answers[2].text
        assert "Under these settings" in answers[1].text
        assert "Under these settings" not in answers[2].text
        told = await asking("GET", path, {**ana, "Accept": "application/json"})
        assert (told.status, "urn:eddy:problem:too-many" in told.text) == (429, True)
        # Steps are read as before, and another user has a share of their own.
        assert (await asking("GET", f"/session?id={board.ids[0]}", {**ana, **PAGE})).status == 200
        assert (await asking("GET", path, {**vic, **PAGE})).status == 200

"""What is hidden stands on no page: every screen of a console over files, asked over HTTP."""

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from streams.console.app import served
from streams.console.composition import console_on
from streams.console.file_board import FileBoard
from streams.console.redaction import REDACTED
from streams.core.detectors.settings import DetectionSettings
from streams.core.entry import Entry
from streams.core.offline import judge
from streams.formats.reading import entries
from streams.formats.recordings.catalogue import RECORDINGS
from tests.unit.console.auth.door_server import ANA, VIC, Asking, settings

SECRET = "sk-zorbl-7f3a9c"
"""A key as agents write them into everything. A comparison cuts it at each dash."""

PARTS = ("zorbl", "7f3a9c")
TEXTS = {
    "intent",
    "goal",
    "reasoning_chain",
    "tool_input",
    "target",
    "error",
    "tool_output_summary",
    "added_to_memory",
}
SESSIONS = [each for each in RECORDINGS if each.name in ("same_call", "read_loop", "edit_test_loop")]


def leaky() -> Iterator[Entry]:
    """Yield recorded steps whose texts all hold a key, a different one in each step."""
    for recording in SESSIONS:
        for number, entry in enumerate(entries([str(recording.path)], recording.input_format)):
            assert entry.value is not None
            yield entry._replace(value=_with_key(entry.value, number), raw=None)


def _with_key(value: Any, number: int, name: str = "") -> Any:
    if isinstance(value, Mapping):
        return {key: _with_key(each, number, key) for key, each in value.items()}
    if isinstance(value, list):
        return [_with_key(each, number, name) for each in value]
    if name == "tool_input" and isinstance(value, str) and value.startswith("{"):
        return value[:-1] + f', "key": "{SECRET}{number % 3}"' + "}"
    return f"{value} {SECRET}{number % 3}" if name in TEXTS and isinstance(value, str) else value


@asynccontextmanager
async def console(folder: Path, **given: object) -> AsyncIterator[tuple[Asking, FileBoard]]:
    """Serve the sessions, as `eddy console FILE` does."""
    board = FileBoard("run.jsonl", "run.jsonl", DetectionSettings())
    for judgement in judge(leaky(), board.settings):
        board.add(judgement)
    shown = console_on(settings(folder, console_port=0, **given), board, lambda: 1_760_000_000_000)
    async with served(shown) as address:
        asking = Asking(address, "127.0.0.1")
        try:
            yield asking, board
        finally:
            await asking.close()


async def pages(asking: Asking, board: FileBoard, token: str) -> dict[str, str]:
    """Return every page that a person can open, and its JSON."""
    origin = {"Sec-Fetch-Site": "same-origin"}
    answer = await asking("POST", "/login", origin, token=token)
    cookie = {"Cookie": answer.headers["Set-Cookie"].partition(";")[0]}
    paths = ["/sessions", f"/sessions?q={SECRET}"]
    for session_id in board.ids:
        paths += [f"/session?id={session_id}&tab={tab}" for tab in ("scores", "evidence", "what-if")]
        paths += [f"/session?id={session_id}&lens=all&diff={number}" for number in range(2, 12)]
        paths += [f"/session?id={session_id}"]
    found = {}
    for path, kind in product(paths, ("text/html", "application/json")):
        page = await asking("GET", path, {**cookie, "Accept": kind})
        assert page.status == 200, (path, page.text)
        # What a person typed into the search is theirs.
        found[f"{path} {kind}"] = page.text.replace(SECRET, "") if SECRET in path else page.text
    return found


def leaks(found: Mapping[str, str]) -> list[str]:
    return [path for path, text in found.items() if any(part in text for part in PARTS)]


async def test_without_a_setting_everyone_sees_what_agents_wrote(tmp_path: Path) -> None:
    async with console(tmp_path) as (asking, board):
        found = await pages(asking, board, VIC)
    assert len([path for path in leaks(found) if path.startswith("/session?")]) > 40


@pytest.mark.parametrize("token", [ANA, VIC])
async def test_what_a_pattern_matches_is_on_no_page(tmp_path: Path, token: str) -> None:
    async with console(tmp_path, console_redact=r"sk-zorbl-\w+") as (asking, board):
        found = await pages(asking, board, token)
    assert leaks(found) == []
    assert REDACTED in found[f"/session?id={board.ids[0]} text/html"]


async def test_a_viewer_sees_digests_and_an_operator_the_texts(tmp_path: Path) -> None:
    async with console(tmp_path, console_viewer_sees="digests") as (asking, board):
        viewer, operator = await pages(asking, board, VIC), await pages(asking, board, ANA)
    assert leaks(viewer) == []
    found = f"/sessions?q={SECRET} application/json"
    assert ("ticket-48213-refund" in operator[found], "ticket-48213-refund" in viewer[found]) == (True, False)
    assert len([path for path in leaks(operator) if path.startswith("/session?")]) > 40
    # Another judgement is the same, whoever asks for it.
    path = f"/session?id={board.ids[0]}&tab=what-if application/json"
    assert viewer[path].partition('"what_if"')[2][:400] == operator[path].partition('"what_if"')[2][:400]

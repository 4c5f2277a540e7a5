"""The routes of the whole console, as they are registered: who needs what for each."""

from pathlib import Path

from aiohttp import web

from streams.console.app import application, served
from streams.console.auth.identity import Role
from streams.console.auth.needs import ACTS, READS, need_of
from streams.console.composition import console_on
from streams.console.file_board import FileBoard
from streams.core.detectors.settings import DetectionSettings
from tests.unit.console.auth.door_server import ACTIONS, ANA, OPEN, PAGES, Asking, settings

#: What does not follow from the method alone. A route that is new here lets more people in: think twice.
LISTED = {
    ("GET", "/login"): None,
    ("POST", "/login"): None,
    ("GET", "/static/{build}/{name}"): None,
    ("POST", "/logout"): Role.VIEWER,
    **{("GET", path): None for path in ("/livez", "/readyz", "/metrics")},
}


def console(folder: Path) -> web.Application:
    board = FileBoard("run.jsonl", "run.jsonl", DetectionSettings())
    return application(console_on(settings(folder), board, lambda: 0))


def test_who_reads_is_a_viewer_and_who_acts_an_operator(tmp_path: Path) -> None:
    routes = {
        ("GET" if route.method == "HEAD" else route.method, route.resource.canonical)
        for route in console(tmp_path).router.routes()
        if route.resource is not None
    }
    assert routes >= LISTED.keys()
    for method, path in routes:
        need = need_of(method, path)
        if (method, path) in LISTED:
            assert need.role is LISTED[method, path], path
        else:
            assert need._replace(team=False) == (READS if method == "GET" else ACTS), path


def test_people_with_some_agents_get_few_routes() -> None:
    everything = {
        *((method, path) for method in ("GET", "POST") for path in (*PAGES, *ACTIONS, *OPEN, "/nowhere")),
        ("POST", "/live/views"),
        ("POST", "/logout"),
    }
    reads = ("/", "/alerts", "/sessions", "/session", "/map", "/licenses", "/live")
    acts = ("/actions/commands", "/actions/triage", "/live/views", "/logout")
    assert {route for route in everything if need_of(*route).team} == {
        *(("GET", path) for path in reads),
        *(("POST", path) for path in acts),
    }


async def test_a_login_leads_to_the_first_page(tmp_path: Path) -> None:
    board = FileBoard("run.jsonl", "run.jsonl", DetectionSettings())
    async with served(console_on(settings(tmp_path, console_port=0), board, lambda: 0)) as address:
        asking = Asking(address, "127.0.0.1")
        try:
            done = await asking("POST", "/login", {"Origin": address}, token=ANA)
            cookie = {"Cookie": done.headers["Set-Cookie"].partition(";")[0], "Accept": "text/html"}
            first = await asking("GET", done.headers["Location"], cookie)
            assert (first.status, first.headers["Location"]) == (302, board.first_page)
        finally:
            await asking.close()

"""The board of a running job: rows come by themselves, and the page holds still under its reader."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from tests.browser.conftest import Site
from tests.browser.console_process import ConsoleProcess
from tests.browser.watched import Trouble

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def demo(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The demo: a broker, workers, and agents that go in circles."""
    process = ConsoleProcess(["--demo", "--speed", "4"], tmp_path_factory.mktemp("demo") / "console")
    try:
        yield Site(browser, process.link())
    finally:
        process.kill()


@pytest.fixture
def context(demo: Site, trouble: Trouble) -> Iterator[BrowserContext]:
    """A context that is logged in to the demo."""
    with ExitStack() as stack:
        yield demo.context(stack, trouble)


@pytest.fixture
def board(context: BrowserContext) -> Page:
    """The alerts, with a row at least."""
    page = context.new_page()
    page.goto("/alerts")
    page.wait_for_selector("#rows tr:visible", timeout=150_000)
    return page


def test_a_row_comes_by_itself(context: BrowserContext) -> None:
    page = context.new_page()
    page.goto("/alerts")
    page.evaluate("window.same = true")
    page.wait_for_selector("#rows tr:visible", timeout=150_000)
    assert page.evaluate("window.same"), "the page was loaded again"


def test_ages_are_right_where_the_clock_of_the_browser_is_an_hour_ahead(context: BrowserContext) -> None:
    context.add_init_script("const now = Date.now; Date.now = () => now() + 3_600_000;")
    page = context.new_page()
    page.goto("/sessions")
    ages = page.locator("time[data-how=ago]")
    ages.first.wait_for()
    assert [age for age in ages.all_inner_texts() if " h ago" in age] == []


def test_what_is_typed_and_what_is_open_stay_while_rows_change(board: Page) -> None:
    field = board.locator("input[type=search]")
    field.fill("agent:cod")
    field.focus()
    before = board.locator("#rows").inner_html()
    board.wait_for_function("before => document.querySelector('#rows').innerHTML !== before", arg=before)
    assert field.input_value() == "agent:cod"
    assert board.evaluate("document.activeElement.type") == "search"


def test_an_opened_step_stays_open_while_steps_come(board: Page) -> None:
    board.locator("#rows a.row-link").first.click()
    board.wait_for_selector("#steps details summary")
    board.locator("#steps details:not([open]) summary").first.click()
    opened = board.locator("#steps details[open]").first.locator("xpath=..").get_attribute("id")
    figures = board.locator("#figures").inner_text()
    board.wait_for_function("before => document.querySelector('#figures').innerText !== before", arg=figures)
    assert board.locator(f"#{opened} > details[open]").count() == 1


def test_keys_act_on_no_row_that_is_not_chosen(board: Page) -> None:
    board.wait_for_selector("#rows [data-key-a]:visible")
    board.evaluate(
        """window.clicked = [];
        document.addEventListener("click", (event) => {
            window.clicked.push(event.target.textContent);
            event.preventDefault();
        }, true);"""
    )
    for key in "azp":
        board.keyboard.press(key)
    assert board.evaluate("window.clicked") == []
    for _ in range(board.locator("#rows tr").count()):  # a session that ended has nothing to pause
        board.keyboard.press("j")
        board.keyboard.press("p")
        if board.evaluate("window.clicked"):
            break
    assert len(board.evaluate("window.clicked")) == 1


def test_rows_are_chosen_and_acknowledged_with_keys_alone(board: Page, axe: Callable[[Page], None]) -> None:
    board.wait_for_selector("#rows [data-key-a]:visible")
    board.keyboard.press("j")
    board.keyboard.press("x")
    board.wait_for_selector("tr.chosen")
    assert board.locator("#chosen").inner_text().startswith("1 chosen")
    board.locator("#chosen a").press("Enter")
    board.wait_for_selector("dialog#dialog[open]")
    axe(board)
    board.locator("#dialog button[value=ack]").press("Enter")
    board.get_by_text("Acknowledged.").wait_for()
    assert board.locator("tr.chosen").count() == 0
    done = board.locator("main td", has_text='"do":"ack"')
    while not done.count():  # the row itself is gone once its session ends
        board.goto("/audit?kind=triage")


def test_rows_of_one_cause_are_one_row_with_actions_on_all(board: Page, axe: Callable[[Page], None]) -> None:
    board.get_by_role("link", name="Causes").click()
    board.wait_for_selector("#rows tr:visible")
    axe(board)
    board.keyboard.press("j")
    board.keyboard.press("p")
    board.wait_for_selector("dialog#dialog[open]")
    while not board.locator("#dialog input[name=note]").count():  # all of the row ended between the two keys
        board.goto("/alerts?group=cause")
        board.locator("#rows [data-key-p]:visible").first.click()
        board.wait_for_selector("dialog#dialog[open]")
    board.locator("#dialog input[name=note]").fill("looked at")
    board.locator("#dialog input[name=note]").press("Enter")
    board.get_by_text("Noted.").wait_for()
    assert board.locator("dialog#dialog[open]").count() == 0


def test_a_row_whose_sessions_have_left_says_so(board: Page, axe: Callable[[Page], None]) -> None:
    board.goto("/alerts?group=cause")
    board.evaluate(
        """() => {
        const link = document.createElement("a");
        link.dataset.do = "dialog";
        link.href = "/alerts?group=cause&dialog=many&cause=R1:0000000000000000";
        link.textContent = "Act on a cause that is gone";
        document.querySelector("main").append(link);
    }"""
    )
    board.get_by_text("Act on a cause that is gone").click()
    board.get_by_role("heading", name="Nothing is left to act on").wait_for()
    axe(board)
    board.locator("#dialog a[data-close]").click()
    assert board.locator("dialog#dialog[open]").count() == 0


def test_eight_tabs_are_live_at_once(context: BrowserContext) -> None:
    """A browser opens six connections to a server: with a stream for each tab the seventh would wait."""
    tabs = [context.new_page() for _ in range(8)]
    for tab in tabs:
        tab.goto("/alerts")
    for tab in tabs:
        tab.wait_for_selector("#rows tr:visible", timeout=150_000)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing(board: Page, axe: Callable[[Page], None], theme: str) -> None:
    board.emulate_media(color_scheme=theme)
    axe(board)
    board.locator("#rows a.row-link").first.click()
    board.wait_for_selector("#steps")
    axe(board)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_in_how_agents_and_tools_fare(
    board: Page, axe: Callable[[Page], None], theme: str
) -> None:
    board.emulate_media(color_scheme=theme)
    for scope in ("agent", "tool"):
        board.goto(f"/health?scope={scope}")
        board.wait_for_selector("#rows tr:visible")
        axe(board)
        board.locator("#rows a.row-link").first.click()
        board.wait_for_selector("#strips canvas")
        axe(board)


def test_settings_go_from_a_proposal_over_a_backtest_and_a_trial_into_force(
    board: Page, axe: Callable[[Page], None]
) -> None:
    board.goto("/settings?q=identical_loop")
    axe(board)
    board.locator("#identical_loop a.button").click()
    board.locator("input[name=identical_loop]").fill("many")
    board.wait_for_selector("#identical_loop-problem:not(:empty)")
    assert not board.get_by_role("button", name="Set as the next version").is_visible()
    board.locator("input[name=identical_loop]").fill("8")
    board.get_by_role("button", name="Backtest").click()
    board.wait_for_url("**/settings/backtest?id=*")
    board.evaluate("window.isSamePage = true")
    board.wait_for_selector("#sessions-title", timeout=60_000)
    board.locator("#running-title").wait_for(state="detached")
    board.locator("#back[href*='backtest=']").wait_for()
    assert board.evaluate("window.isSamePage"), "the page was loaded again"
    axe(board)
    board.get_by_role("link", name="Back to the proposal").click()
    board.locator("input[name=why]").fill("to see what differs")
    board.get_by_role("button", name="Try it out").click()
    board.get_by_text("It is tried out now.").wait_for()
    axe(board)
    board.locator("textarea[name=why]").fill("fewer pages at night")
    board.get_by_role("button", name="Set as the next version").click()
    board.get_by_text("Version 1 is in force").wait_for()
    assert board.locator("#identical_loop code.value").inner_text() == "8"
    board.goto("/settings/history")
    axe(board)
    board.goto("/audit?kind=settings")
    assert "changed the settings in force" in board.locator("main").inner_text()
    board.get_by_text("Request", exact=True).click()
    assert '"backtest":"last 1 h","shadow":true' in board.locator("main").inner_text()


def test_the_map_is_read_with_the_keyboard_alone(board: Page) -> None:
    board.goto("/map")
    card = board.locator("#cell[data-at]")
    while not card.count():  # a loop may end between the look and the key
        board.wait_for_selector("#rows tr[data-cells*=l], #cell[data-at]", state="attached")
        board.keyboard.press("n")
        board.wait_for_function("() => document.getElementById('map-said').textContent !== ''")
    assert board.locator("#map-said").inner_text()
    assert "id=" in board.url
    board.keyboard.press("Escape")
    board.wait_for_selector("#cell:not([data-at])")
    board.keyboard.press("ArrowRight")
    board.wait_for_selector("#cell[data-at]")
    chosen = board.locator("#cell h2").inner_text()
    board.keyboard.press("Enter")
    board.wait_for_url("**/session?id=*")
    assert board.locator("h1").inner_text() == chosen


def test_a_cell_that_is_clicked_shows_its_session(board: Page) -> None:
    board.goto("/map")
    surface = board.locator(".surface canvas.base")
    while not board.locator(".surface.on-cell").count():  # rows may be there before the cells are drawn
        surface.hover(position={"x": 15, "y": 46})
        surface.hover(position={"x": 16, "y": 46})
    surface.click(position={"x": 16, "y": 46})
    # The first area has another number if one was there before, of sessions whose agent was not known yet.
    card = board.wait_for_selector("#cell[data-at$=':0']")
    assert card is not None
    session = card.query_selector("h2")
    assert session is not None
    assert session.inner_text() == card.get_attribute("data-id")
    board.wait_for_url(f"**/map?id={card.get_attribute('data-id')}")


def test_no_cell_moves_when_an_area_doubles_and_none_covers_another(board: Page) -> None:
    board.goto("/map")
    address = board.locator("script[src*='/map.js']").get_attribute("src") or ""
    moved, covered = board.evaluate(
        """async (address) => {
            const { layout, standing } = await import(address.replace("map.js", "honeycomb.js"));
            const group = (place, capacity) =>
                ({ place, name: "", capacity, cells: "a".repeat(capacity), counts: [] });
            const cells = (groups, width) => standing(layout(groups, width, 24).areas);
            let moved = 0;
            for (let capacity = 1; capacity < 4096; capacity *= 2) {
                const after = cells([group(0, 2 * capacity)], 4000);
                cells([group(0, capacity)], 4000).forEach((cell, slot) => {
                    moved += cell.x !== after[slot].x || cell.y !== after[slot].y;
                });
            }
            const capacities = [1, 64, 2, 16, 256, 8, 4, 128, 1, 32];
            const groups = capacities.map((capacity, place) => group(place, capacity));
            let covered = 0;
            for (const width of [320, 800, 1300]) {
                const all = cells(groups, width);
                all.forEach((one, index) => {
                    covered += one.x < 0 || one.x > width;
                    for (const other of all.slice(index + 1))
                        covered += Math.hypot(one.x - other.x, one.y - other.y) < 11;
                });
            }
            return [moved, covered];
        }""",
        address,
    )
    assert (moved, covered) == (0, 0)


def test_without_scripts_the_map_is_a_table(demo: Site, board: Page, trouble: Trouble) -> None:
    board.wait_for_selector("#rows tr:visible")
    with ExitStack() as stack:
        page = demo.context(stack, trouble, java_script_enabled=False).new_page()
        page.goto("/map")
        assert page.locator("#rows tr").first.is_visible()
        assert not page.locator("#map").is_visible()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_in_the_map(board: Page, axe: Callable[[Page], None], theme: str) -> None:
    board.emulate_media(color_scheme=theme)
    board.goto("/map")
    board.wait_for_selector("#rows tr", state="attached")
    axe(board)
    board.locator(".surface").press("ArrowRight")
    board.wait_for_selector("#cell[data-at]")
    axe(board)
    for form in ("table", "matrix"):
        board.goto(f"/map?as={form}")
        axe(board)

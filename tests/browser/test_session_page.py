"""The session page of a recording: with a mouse, with keys alone, without scripts, enlarged, read by axe."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from tests.browser.conftest import Opens

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

SESSION = "/session?id=ticket-48213-refund"
FAILING = "/session?id=checkout-rounding-19aa"
TABS = ("steps", "scores", "evidence", "what-if")
SCREENS = (
    *("/sessions", "/licenses"),
    *(f"{SESSION}&tab={tab}" for tab in TABS),
    f"{SESSION}&lens=all",
    f"{SESSION}&tab=scores&x=time",
)


def overflow(page: Page) -> int:
    """Return by how many pixels the page is wider than the window."""
    return page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")


def test_a_session_is_reached_from_the_list_and_says_its_verdict(opens: Opens) -> None:
    page = opens("/sessions")
    page.get_by_role("link", name="ticket-48213-refund").click()
    page.wait_for_url("**/session?id=*")
    assert page.locator("h1").inner_text() == "ticket-48213-refund"
    assert "get_ticket" in page.locator("#steps").inner_text()
    assert page.locator("#verdict strong").inner_text()


def test_equal_steps_have_a_letter_and_rounds_are_folded(opens: Opens) -> None:
    page = opens(SESSION)
    letters = page.locator("#steps .twin").all_inner_texts()
    assert letters.count("A") >= 2
    folded = page.locator("#steps > li").count()
    assert page.locator("#steps > li.fold").count() >= 1
    page.get_by_role("link", name="Every step").click()
    page.wait_for_url("**lens=all*")
    assert page.locator("#steps > li.fold").count() == 0
    assert page.locator("#steps > li").count() > folded


def test_a_step_stands_beside_its_earlier_twin_and_the_page_stays(opens: Opens) -> None:
    page = opens(SESSION)
    page.evaluate("window.same = true")
    page.locator("#steps a.twin[data-diff]").first.click()
    page.wait_for_selector("#diff")
    assert page.locator("#diff h2").inner_text().startswith("Step ")
    assert page.evaluate("window.same")
    assert "diff=" in page.url
    page.locator("#diff [data-close]").click()
    page.wait_for_selector("#diff", state="detached")


def test_scores_are_drawn_and_are_a_table_too(opens: Opens) -> None:
    page = opens(f"{SESSION}&tab=scores")
    page.wait_for_selector("#strips canvas")
    assert page.locator("#strips canvas").count() >= 2
    page.get_by_text("The same as a table").click()
    assert page.locator("details table tbody tr").count() >= 5


def test_scores_are_drawn_by_step_or_by_time_and_the_address_says_which(opens: Opens) -> None:
    page = opens(f"{SESSION}&tab=scores")
    axis = page.get_by_role("group", name="Axis")

    def under_the_cursor() -> tuple[str, list[str]]:
        """Return the chosen axis, and the step in each legend while the cursor is on a strip."""
        page.locator("#strips .u-over").nth(1).hover()
        # The legends follow the cursor in a later frame.
        page.wait_for_function("!document.querySelector('#strips .u-value').textContent.includes('--')")
        told = page.locator("#strips .u-legend .u-series:first-child .u-value").all_inner_texts()
        return axis.locator("[aria-current]").inner_text(), told

    chosen, by_step = under_the_cursor()
    assert chosen == "By step"
    assert len(by_step) >= 2
    assert len(set(by_step)) == 1, "the strips have one cursor"
    assert by_step[0].isdecimal()
    axis.get_by_role("link", name="By time").click()
    page.wait_for_url("**x=time*")
    chosen, by_time = under_the_cursor()
    assert chosen == "By time"
    assert len(set(by_time)) == 1
    assert by_time[0].endswith(" UTC")
    axis.get_by_role("link", name="By step").click()
    page.wait_for_url(lambda url: "x=" not in url)


def test_a_slider_judges_again_without_leaving_the_page(opens: Opens) -> None:
    page = opens(f"{SESSION}&tab=what-if")
    page.evaluate("window.same = true")
    slider = page.locator("input[name=identical_loop]")
    slider.focus()
    # The answer is replaced by the new one.
    page.evaluate("document.getElementById('answer').dataset.old = ''")
    slider.press("End")
    page.wait_for_selector("#answer:not([data-old])")
    assert "identical_loop=" in page.url
    assert page.evaluate("window.same")


def test_every_part_is_reached_with_keys_alone(opens: Opens) -> None:
    page = opens("/sessions")
    page.keyboard.press("j")
    page.wait_for_selector("tr.selected")
    page.keyboard.press("Enter")
    page.wait_for_url("**/session?id=*")
    page.keyboard.press("j")
    page.wait_for_selector("li.selected")
    page.keyboard.press("n")
    page.wait_for_selector("li.selected[data-event]")
    page.keyboard.press("?")
    page.wait_for_selector("dialog#keys[open]")
    page.keyboard.press("Escape")
    page.wait_for_selector("dialog#keys[open]", state="detached")
    page.keyboard.press("g")
    page.keyboard.press("s")
    page.wait_for_url("**/sessions")
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.name") == "q"
    page.keyboard.type("level:LOOP")
    page.keyboard.press("Enter")
    page.wait_for_url("**q=level*")
    page.goto(SESSION)
    page.keyboard.press("/")
    page.wait_for_url("**/sessions#search")
    page.wait_for_function("document.activeElement.name === 'q'")


def test_brackets_go_from_episode_to_episode(opens: Opens) -> None:
    page = opens(f"{SESSION}&lens=all")
    page.keyboard.press("]")
    page.wait_for_selector("li.selected.in-round")
    first = page.locator("li.selected").get_attribute("id")
    page.keyboard.press("j")
    page.keyboard.press("[")
    page.wait_for_selector(f"li#{first}.selected")


def test_the_skip_link_is_the_first_stop_and_focus_is_seen(opens: Opens) -> None:
    page = opens(SESSION)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    for _ in range(12):
        page.keyboard.press("Tab")
        focused = page.locator(":focus")
        assert focused.evaluate("element => getComputedStyle(element).outlineStyle") != "none"


@pytest.mark.parametrize("screen", SCREENS)
def test_without_scripts_a_page_is_complete(opens: Opens, screen: str) -> None:
    page = opens(screen, java_script_enabled=False)
    assert page.locator("main h1").inner_text()
    assert page.get_by_role("button", name="Keys").is_hidden(), "it would do nothing"


def test_without_scripts_filter_diff_and_sliders_work(opens: Opens) -> None:
    page = opens("/sessions", java_script_enabled=False)
    page.locator("input[name=q]").fill("agent:support-02")
    page.locator("input[name=q]").press("Enter")
    page.wait_for_url("**q=agent*")
    assert page.locator("tbody tr").count() == 1
    page.locator("a.row-link").click()
    page.locator("#steps a.twin[data-diff]").first.click()
    assert page.locator("#diff h2").is_visible()
    page.get_by_role("link", name="What if").click()
    page.get_by_role("button", name="Judge again").click()
    assert "identical_loop=" in page.url
    assert page.locator("#answer strong").inner_text()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("screen", SCREENS)
def test_axe_finds_nothing(opens: Opens, axe: Callable[[Page], None], screen: str, theme: str) -> None:
    page = opens(screen, color_scheme=theme)
    for closed in page.locator("#steps details:not([open]) > summary").all()[:2]:
        closed.click()
    axe(page)


@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.parametrize(
    "window", [{"width": 390, "height": 800}, {"width": 640, "height": 400}], ids=["a phone", "200 %"]
)
def test_nothing_is_wider_than_the_window(opens: Opens, screen: str, window: dict[str, int]) -> None:
    """A window of 1280 x 800 that is enlarged twice has room for 640 x 400."""
    page = opens(screen, viewport=window)
    page.wait_for_load_state("load")
    assert overflow(page) <= 0


@pytest.mark.parametrize("width", [390, 700, 740, 1000, 1280])
def test_what_a_step_says_stands_beside_its_tool_and_not_on_it(opens: Opens, width: int) -> None:
    page = opens(f"{FAILING}&lens=all", viewport={"width": width, "height": 800})
    failed = page.locator("#steps .step:has(.status.failure)")
    assert failed.count() >= 2
    overlapping = """steps => steps.filter(step => {
      const parts = [...step.querySelectorAll('summary > *, .twin')].filter(part => part.innerText.trim());
      const boxes = parts.map(part => part.getBoundingClientRect());
      return boxes.some((a, i) => boxes.slice(i + 1).some(b =>
        a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1));
    }).map(step => step.innerText)"""
    assert failed.evaluate_all(overlapping) == []


def test_nothing_moves_for_those_who_asked_for_it(opens: Opens) -> None:
    page = opens(SESSION, reduced_motion="reduce")
    moving = """[...document.querySelectorAll('*')].filter((element) => {
      const style = getComputedStyle(element);
      const lasts = (text) => text.split(',').some((part) => parseFloat(part) > 0.01);
      const animated = style.animationName !== 'none' && lasts(style.animationDuration);
      return animated || lasts(style.transitionDuration);
    }).map((element) => element.outerHTML.slice(0, 100))"""
    assert page.evaluate(moving) == []


def test_the_theme_is_switched_and_kept(opens: Opens) -> None:
    page = opens(SESSION, color_scheme="light")
    before = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    page.get_by_role("button", name="Switch between light and dark").click()
    after = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    assert before != after
    page.reload()
    assert page.evaluate("getComputedStyle(document.documentElement).backgroundColor") == after

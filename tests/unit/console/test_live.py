"""What browsers are sent: differences of states, which a browser that applies them ends up showing."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from streams.console.live import SentView, Shown, frame
from streams.console.view import PageView


class Browser:
    """Applies what it is sent, as static/live.js does."""

    def __init__(self) -> None:
        self.order: tuple[str, ...] = ()
        self.rows: dict[str, str] = {}
        self.parts: dict[str, str] = {}

    def take(self, changed: dict[str, Any]) -> None:
        self.parts |= changed.get("parts", {})
        if "order" in changed:
            self.rows |= changed["set"]
            self.order = tuple(changed["order"])
            self.rows = {key: self.rows[key] for key in self.order}


KEYS = st.sampled_from(["a", "b", "#c", ""])
HTML = st.sampled_from(["<tr>1</tr>", "<tr>2</tr>", ""])
ROWS = st.dictionaries(KEYS, HTML, max_size=4)


@st.composite
def views(draw: st.DrawFn) -> PageView:
    rows = draw(ROWS)
    parts = draw(st.dictionaries(st.sampled_from(["lead", "tabs"]), HTML, min_size=2))
    return PageView(tuple(draw(st.permutations(sorted(rows)))), rows, parts)


@given(st.lists(views(), max_size=6))
def test_a_browser_shows_each_state_after_its_difference(states: list[PageView]) -> None:
    here, browser = SentView(), Browser()
    for state in states:
        browser.take(here.difference(Shown.of(state)))
        assert (browser.order, browser.rows, browser.parts) == (state.order, state.rows, state.parts)


@given(views())
def test_a_state_that_is_shown_is_not_sent_again(state: PageView) -> None:
    here = SentView()
    here.difference(Shown.of(state))
    assert here.difference(Shown.of(state)) == {}


def test_a_frame_is_one_event_whatever_a_row_holds() -> None:
    sent = frame("rows", {"set": {"a": "one\n\ndata: two\r\n"}})
    assert sent.endswith(b"\n\n")
    assert sent.count(b"\n") == 3

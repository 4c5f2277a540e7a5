"""A context of the browser that keeps a list of all that went wrong in its pages."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Dialog, Page

AXE = Path(__file__).parent / "vendor" / "axe.min.js"
#: Rules of WCAG 2.2 AA, and what axe recommends beside them.
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
_TELLS_OF_THE_POLICY = """
document.addEventListener("securitypolicyviolation", (event) =>
  console.error(`policy: ${event.violatedDirective} refused ${event.blockedURI} ${event.sample}`));
"""


class Trouble(list[str]):
    """What went wrong: errors of scripts, refusals of the policy, dialogs, answers that failed."""

    def watch(self, context: BrowserContext) -> None:
        """Listen to every page of a context."""
        context.add_init_script(_TELLS_OF_THE_POLICY)
        context.on("console", lambda said: said.type == "error" and self.append(f"console: {said.text}"))
        context.on("weberror", lambda error: self.append(f"error: {error.error}"))
        context.on("page", lambda page: page.on("dialog", self._dialog))
        context.on("requestfailed", lambda request: self._failed(request.url, request.failure))

    def _failed(self, url: str, why: str | None) -> None:
        # A page that is left drops what it was loading.
        if why != "net::ERR_ABORTED":
            self.append(f"request: {url}: {why}")

    def _dialog(self, dialog: Dialog) -> None:
        self.append(f"dialog: {dialog.message}")
        dialog.dismiss()


@contextmanager
def watched(browser: Browser, trouble: Trouble, **options: Any) -> Iterator[BrowserContext]:
    """Open a context that tells of trouble, for as long as the block lasts."""
    context = browser.new_context(**options)
    try:
        trouble.watch(context)
        yield context
    finally:
        context.close()


#: Axe judges colours by what stands behind what, and looks at places once. A live page may move meanwhile.
_AUDIT = """
async (tags) => {
  let changes = 0;
  const observer = new MutationObserver((list) => { changes += list.length; });
  observer.observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
  const { violations } = await axe.run(document, {
    runOnly: { type: "tag", values: tags }, resultTypes: ["violations"],
  });
  changes += observer.takeRecords().length;
  observer.disconnect();
  return { violations, moved: changes > 0 };
}
"""
_AUDITS = 10


def violations(page: Page) -> list[str]:
    """Return what axe finds on a page: the rule, and the elements.

    What it finds while the page changes is looked for again, up to `_AUDITS` times: a fault stays.
    """
    page.evaluate(AXE.read_text())
    for _ in range(_AUDITS):
        audit = page.evaluate(_AUDIT, TAGS)
        if not (audit["violations"] and audit["moved"]):
            break
    return [
        f"{each['id']}: {each['help']}: {[node['html'][:200] for node in each['nodes']][:3]}"
        for each in audit["violations"]
    ]

"""What every answer says to the browser: run only our own scripts, keep no page, tell no other site."""

from __future__ import annotations

from typing import Final

CONTENT_SECURITY_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "worker-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'; "
    "require-trusted-types-for 'script'; trusted-types eddy"
)

SANDBOXED: Final = f"{CONTENT_SECURITY_POLICY}; sandbox"
"""For a file of raw bytes, beside ``Content-Disposition: attachment``."""

IMMUTABLE: Final = "public, max-age=31536000, immutable"
"""``Cache-Control`` of a file whose path changes with its content. Everything else is ``no-store``."""

ALWAYS: Final = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}
"""A route may give its own value."""

REFERRER_IN_THE_CLEAR: Final = "same-origin"
"""``Referrer-Policy`` without TLS. Browsers send no Sec-Fetch-Site then, and a form of a page that says
``no-referrer`` comes with ``Origin: null``: nothing would tell our own forms from those of others."""

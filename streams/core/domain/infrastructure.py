"""Failures of the road rather than of the agent: rate limits, overload, lost connections."""

from __future__ import annotations

import re

_USED = 200
_ANY = re.compile(
    r"^\W*(?:429|50[0-4]|52\d)\b"
    r"|\b(?:http|https|status|code|error|response)\W{0,3}(?:code|status|error)?\W{0,3}(?:429|50[0-4]|52\d)\b"
    r"|too many requests|rate.?limit|overloaded|service unavailable|bad gateway|gateway time-?out"
    r"|temporarily unavailable"
    r"|^\W*(?:error\W+)?time(?:d |-)?out\b"
    r"|\b(?:request|connection|connect|read|network|socket|upstream|server|api|llm|model)\b"
    r"\W{0,3}(?:has |have )?time(?:d |-)?out\b"
    r"|connection (?:reset|refused|aborted|closed)|ECONNRESET|ECONNREFUSED|ETIMEDOUT",
    re.IGNORECASE,
)
# Every match of the patterns holds one of these, lower-cased; looking for them takes a hundredth of the time.
_SIGNS = (
    *("429", "500", "501", "502", "503", "504", "52"),
    *("too many requests", "limit", "overloaded", "unavailable", "bad gateway"),
    *("timeout", "timed out", "time-out", "connection ", "econn", "etimedout"),
)
# What `re.IGNORECASE` takes for an ASCII letter though it is none and `str.lower` does not make it one.
_FOLDED = str.maketrans({"\u0130": "i", "\u0131": "i", "\u017f": "s"})


def is_infrastructure(status: str, text: str | None) -> bool:
    """Tell whether a failed call failed for reasons outside the agent's reach (specification 3.4).

    ``text`` is the result text of the record (specification 2.3); its first 200 characters decide.

    >>> is_infrastructure("failure", "HTTP 503 Service Unavailable"), is_infrastructure("failure", "HTTP 404")
    (True, False)
    """
    if status != "failure" or not text:
        return False
    used = text[:_USED]
    lower = used.lower() if used.isascii() else used.translate(_FOLDED).lower()
    return any(sign in lower for sign in _SIGNS) and _ANY.search(used) is not None

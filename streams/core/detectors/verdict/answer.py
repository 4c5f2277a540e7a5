"""What an answer says about the step: that it waits, that it was refused and by whom, that it is done (6.6b).

The words of refusals are those of today's agents, hooks, sandboxes and shells; `refusal_phrases` adds others.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final

from streams.core.detectors.verdict.act import Act

_USED = 200
_ANY_SIGN_OF_THE_ROAD = re.compile(
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
_SIGNS_OF_THE_ROAD = (
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
    return (
        any(sign in lower for sign in _SIGNS_OF_THE_ROAD) and _ANY_SIGN_OF_THE_ROAD.search(used) is not None
    )


_HEAD = 1_000
_SHORT = 400
_CONFIRMING: Final = frozenset(
    word
    for line in (
        "accepted added applied changed clicked completed copied created deleted done edited filled",
        " inserted launched",
        " modified moved navigated ok pressed recorded removed replaced saved scrolled selected sent",
        " started stored",
        " submitted success successful successfully typed updated waited written wrote",
    )
    for word in line.split()
)
_FEWEST_WORDS: Final = 3
_STILL: Final = re.compile(
    r"still running|(?:wait |has )?timed[ _]out|no new output|not (?:yet )?(?:ready|finished|complete|done)\b"
    r"|in progress\b|retrieval_status>(?:timeout|not_ready)|<status>running|\bpending\b",
    re.IGNORECASE,
)
# Every match holds one of these; looking for them takes a tenth of the time.
_SIGNS_OF_STILL: Final = ("running", "timed", "no new", "not ", "progress", "retrieval", "pending")
_BACKGROUND: Final = re.compile(
    r"launched successfully|running in (?:the )?background|started in the background", re.IGNORECASE
)
_NOTHING: Final = re.compile(
    r"\W*(?:no (?:files?|match(?:es)?|results?|output|content|tasks?|hits?|entries|records?|items?)\b.{0,20}"
    r"|none|null|0|not found|0 (?:results|matches|hits).{0,20}|found 0 .{0,40})?\W*",
    re.IGNORECASE,
)
_DENIED: Final = re.compile(
    r"\W*(?:blocked|denied|refused|rejected|forbidden|(?:permission|access) denied"
    r"|not (?:allowed|permitted|authori[sz]ed))\b",
    re.IGNORECASE,
)


class Failure(StrEnum):
    """Why a step came to nothing, as far as words tell.

    Attributes:
        ABSENT: a person was asked, and none was there.
        CANCELLED: it was called off because of another step.
        PATCH: the text that was to be changed was not found.
        MISSING: there is no such tool.
        REFUSED: a permission, hook, guard, sandbox or policy refused it.
        OTHER: no word names one of these reasons.
    """

    ABSENT = "absent"
    CANCELLED = "cancelled"
    PATCH = "patch"
    MISSING = "missing"
    REFUSED = "refused"
    OTHER = "other"


# Every match holds one of these, in lower case; looking for them takes a tenth of the time.
_SIGNS: Final = {
    Failure.ABSENT: (
        *("answer questions", "no human", "no user", "no person", "no one", "not available", "unavailable"),
        *("away", "no answer", "no response", "no reply", " ask ", "interactive"),
    ),
    Failure.CANCELLED: ("sibling tool call", "cancel", "was aborted"),
    Failure.PATCH: (
        *("failed to find", "old_", "olds", "oldt", "string to replace", "search block", "search text"),
        *("patch ", "hunk", "no replacement", "verbatim"),
    ),
    Failure.MISSING: ("tool", "unknown function"),
    Failure.REFUSED: (
        *("perm", "not allowed", "authori", "blocked", "forbidden", "read-only", "erofs", "eacces"),
        *("denied", "hook", "guard", "polic", "sandbox", "requires approval"),
    ),
}
# The letters beyond ASCII that a pattern takes for an i, k or s, whatever their lower case is.
_LIKE_ASCII: Final = re.compile("[\u0130\u0131\u017f\u212a]")
_CLASSES: Final = tuple(
    (failure, _SIGNS[failure], re.compile(pattern, re.IGNORECASE))
    for failure, pattern in (
        (
            Failure.ABSENT,
            (
                r"answer questions\?|no (?:human|user|person|one) (?:is )?(?:available|present|there)"
                r"|user (?:is )?(?:not available|unavailable|away)"
                r"|no (?:answer|response|reply) from (?:the )?(?:user|human)"
                r"|(?:cannot|can't|unable to) ask (?:the )?(?:user|questions)|non-?interactive"
            ),
        ),
        (Failure.CANCELLED, r"sibling tool call|\bcancell?ed\b|was aborted\b"),
        (
            Failure.PATCH,
            (
                r"failed to find (?:expected|context)"
                r"|(?:old_?(?:string|text|str)|string to replace|search (?:block|text))\b"
                r".{0,40}(?:not found|no match|not unique|matches \d|was not)|patch (?:failed|does not apply)"
                r"|hunk\b.{0,30}fail|no replacement was performed|did not appear verbatim"
            ),
        ),
        (
            Failure.MISSING,
            (
                r"no such tool|unknown tool|tool\b.{0,40}\b(?:not (?:found|exist|available)|does not exist)"
                r"|not a valid tool|no tool named|unknown function"
            ),
        ),
        (
            Failure.REFUSED,
            (
                r"permission denied|not (?:allowed|permitted|authori[sz]ed)|\bblocked\b|forbidden"
                r"|operation not permitted"
                r"|read-only file system|\bE(?:ROFS|PERM|ACCES)\b|access (?:is )?denied|denied by"
                r"|hook (?:error|denied|blocked)|hook\b.{0,20}(?:refused|rejected)"
                r"|\bguard\b.{0,20}(?:blocked|found|denied)"
                r"|polic(?:y|ies)\b.{0,30}(?:den|block|violat)|sandbox|requires approval|unauthori[sz]ed"
            ),
        ),
    )
)


def failure_of(text: str, phrases: tuple[str, ...] = ()) -> Failure:
    """Return why a step failed, by the first 1,000 characters of its error.

    Args:
        text: text of the step's error.
        phrases: further phrases of a refusal, lower-cased.

    >>> failure_of("cp: cannot create 'x': Read-only file system"), failure_of("E042: see the handbook")
    (<Failure.REFUSED: 'refused'>, <Failure.OTHER: 'other'>)
    >>> failure_of("E042: see the handbook", ("see the handbook",))
    <Failure.REFUSED: 'refused'>
    """
    head = text[:_HEAD]
    lower = head.lower()
    if phrases and any(phrase in lower for phrase in phrases):
        return Failure.REFUSED
    may_match = not head.isascii() and _LIKE_ASCII.search(head) is not None
    for failure, signs, pattern in _CLASSES:
        if (may_match or any(sign in lower for sign in signs)) and pattern.search(head):
            return failure
    return Failure.OTHER


def is_denial(text: str) -> bool:
    """Tell whether a short answer of a call that did not fail begins with the word of a refusal.

    >>> is_denial("BLOCKED: goal g-7 is active."), is_denial("The road is blocked.")
    (True, False)
    """
    return 0 < len(text) <= _SHORT and _DENIED.match(text) is not None


def tells_to_wait(text: str, act: Act) -> bool:
    """Tell whether the answer of a call that did not fail says that something still runs.

    >>> tells_to_wait("job 7: still running", Act.UNKNOWN), tells_to_wait("Merge in progress", Act.ACTS)
    (True, False)
    """
    if not text or act is Act.SAYS or (act is Act.ASKS and len(text) > _SHORT):
        return False
    head = text[:_SHORT].lower()
    if act is not Act.ACTS and len(text) <= _SHORT and _says_still(head):
        return True
    return act is not Act.ASKS and _says_background(head)


def has_new_output(text: str) -> bool:
    """Tell whether an answer that was waited for holds output, not only that there is none yet."""
    return bool(text) and not tells_to_wait(text, Act.WAITS)


def _says_still(head: str) -> bool:
    for sign in _SIGNS_OF_STILL:
        if sign in head:
            return _STILL.search(head) is not None
    return False


def _says_background(head: str) -> bool:
    return ("background" in head or "launched" in head) and _BACKGROUND.search(head) is not None


def found_nothing(text: str) -> bool:
    """Tell whether an answer says that there is nothing, or is empty.

    >>> found_nothing("No files found"), found_nothing("[]"), found_nothing("No room for doubt")
    (True, True, False)
    """
    return _NOTHING.fullmatch(text[: _SHORT // 2]) is not None


def confirms(news: list[str]) -> bool:
    """Tell whether the answer of a step that acts says no more than that it worked.

    Args:
        news: the words that it adds to its call.

    >>> [confirms(words.split()) for words in ("file was saved", "three rows found", "rows found")]
    [True, False, True]
    """
    return len(news) < _FEWEST_WORDS or not _CONFIRMING.isdisjoint(news)

"""What the judged records of the window did, as one text in which a newer record is looked for.

Newest first. A record is ``,<outcome><call><offsets><status><ms>``:

- outcome and call: marks of what came of it, and of its call;
- offsets: how far the record before it is back, in base64 digits, so that every place is known from that of
  the newest;
- ms: the pause before it, in base64 digits too;
- status: ``.``, ``!``, ``;`` or ``?`` for success, failure, skipped or pending.

If a record comes again, a comma is left of the earlier one: wherever a record is looked for, the newest is
meant. The distance then leads to the record before that one, and the longer pause stays. So a session that
repeats itself stays small.
A search in this text is one loop in C, several times faster than one over records.
"""

from __future__ import annotations

import re
from binascii import b2a_base64
from functools import lru_cache
from hashlib import blake2b
from typing import NamedTuple

from streams.core.domain.decision import Decision

# Base64 digits of a mark: 36 bits. In a window of 30, one record in two billion meets another that only looks
# like it.
_MARK = 6
_HEX = 9
_CALL_AT = 1 + _MARK
_FAILED = 1 << 35
_LONGEST_REMEMBERED = 200
_DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_VALUES = {digit: value for value, digit in enumerate(_DIGITS)}
_RECORD = re.compile(r",[^,]{12}(-?[A-Za-z0-9+/]*)([.!;?])(-?[A-Za-z0-9+/]*)")
_STATUSES = {"success": ".", "failure": "!", "skipped": ";", "pending": "?"}


class Past(NamedTuple):
    """The judged records of the window before one record, and what is looked for in them.

    Attributes:
        text: the records, newest first.
        outcome: mark of tool, whether the record failed, and its result.
        call: mark of its call.
        start: where the records begin that it is compared with; those before are of its own round.
        called_at: where in the text the newest record with its call begins, below 0 without one.
        repeated_at: where the newest record with its call and result begins, -1 without one.
    """

    text: str
    outcome: str
    call: str
    start: int
    called_at: int
    repeated_at: int

    @classmethod
    def of(cls, text: str, decision: Decision, size: int, of_its_round: int = 0) -> Past:
        """Return the newest ``size`` records of a text as a record sees them.

        Args:
            text: the records before it.
            decision: the record that is compared with them.
            size: the most of them that are kept.
            of_its_round: how many of the newest are of its own round, with which it is not compared.
        """
        for _ in range(text.count(",") - size):
            text = text[: text.rindex(",")]
        start = 0
        for _ in range(of_its_round):
            start = text.find(",", start + 1) if start >= 0 else start
        if start < 0:
            start = len(text)
        tool, result = decision.tool or "", decision.result_digest
        key = _salt_of(tool) if len(tool) <= _LONGEST_REMEMBERED else _salt(tool)
        if result is not None:
            key ^= int(result[:_HEX], 16)
        if decision.status == "failure":
            key ^= _FAILED
        # Nine bytes are twelve digits: both marks at once.
        marks = b2a_base64(bytes.fromhex(f"{key:09x}{decision.call_digest[:_HEX]}"), newline=False).decode()
        outcome, call = marks[:_MARK], marks[_MARK:]
        found = text.find(call, start)
        # By chance, a mark may stand where two others meet.
        while found >= 0 and text.rfind(",", 0, found) != found - _CALL_AT:
            found = text.find(call, found + 1)
        called_at = found - _CALL_AT
        repeated_at = -1 if called_at < 0 else text.find(f",{marks}", start)
        return cls(text, outcome, call, start, called_at, repeated_at)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to compare with."""
        return self.start >= len(self.text) or not self.text[self.start :].strip(",")

    def heard_at(self) -> int:
        """Return where the newest record of the tool with the same result begins, below 0 without one."""
        return self.text.find(f",{self.outcome}", self.start)

    def number_back(self, at: int) -> int:
        """Return how many records ago the record at this place was, from 1, its own round included."""
        return self.text.count(",", 0, at) + 1

    def before_its_round(self, at: int) -> int:
        """Return how many records before its own round the record at this place was, from 1."""
        return self.text.count(",", self.start, at) + 1

    def offset_of(self, at: int, newest: int) -> int:
        """Return the offset of the record at this place, from that of the newest."""
        for offsets, _, _ in _RECORD.findall(self.text, 0, at):
            newest -= _number(offsets)
        return newest

    def longest_pause(self, at: int, first: int) -> int:
        """Return the longest pause between neighbours since the record at this place, in ms.

        Args:
            at: place of that record in the text.
            first: the pause since the newest record.
        """
        return max([first, *(_number(ms) for _, _, ms in _RECORD.findall(self.text, 0, at))])

    def distance(self, status: str) -> int | None:
        """Return how many records ago call, result and status were last the same, None if they were not."""
        letter, at = _STATUSES[status], self.repeated_at
        while at >= 0:
            if _status_at(self.text, at) == letter:
                return self.number_back(at)
            at = self.text.find(f",{self.outcome}{self.call}", at + 1)
        return None

    def with_the_record(self, decision: Decision, newest: tuple[int, int] | None) -> str:
        """Return the text with the record added, which comes after that at this offset and timestamp.

        >>> action = {"status": "success", "tool_call": "ls"}
        >>> known = {"session_id": "", "event_id": "", "action": action, "identity": {"agent_id": ""}}
        >>> one = Decision.of(0, 20, {**known, "meta": {"timestamp": 8_000}})
        >>> other = Decision.of(0, 30, {**known, "meta": {"timestamp": 9_000}})
        >>> text = Past.of("", one, 29).with_the_record(one, None)
        >>> text
        ',wd/ZeK56eVOm.'
        >>> Past.of(text, other, 29).with_the_record(other, (20, 8_000))
        ',wd/ZeK56eVOmK.Po,'
        """
        letter, marks = _STATUSES[decision.status], f",{self.outcome}{self.call}"
        offsets, ms = 0, 0
        if newest is not None:
            offsets, ms = decision.offset - newest[0], decision.timestamp - newest[1]
        text = f"{marks}{_digits(offsets)}{letter}{_digits(ms)}{self.text}"
        # What is of the same round may have been compared with the earlier ones, and will be.
        if self.repeated_at < 0 or self.start or decision.round_digest:
            return text
        # More than one if they came in one round. The oldest goes first: that moves none of the newer ones.
        at = text.rfind(marks)
        while at > 0:
            if _status_at(text, at) == letter:
                text = _without(text, at)
            at = text.rfind(marks, 0, at)
        return text


def _status_at(text: str, at: int) -> str:
    found = _RECORD.match(text, at)
    return "" if found is None else found[2]


def _salt(tool: str) -> int:
    """Return what is mixed into a result, so that the same result of another tool has another mark."""
    return int(blake2b(tool.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()[:_HEX], 16)


_salt_of = lru_cache(maxsize=4_096)(_salt)


def _without(text: str, at: int) -> str:
    """Leave a comma of the record that begins at this place, behind another one.

    >>> _without(",aaaaaacccccc.B,,bbbbbbddddddB!Po,eeeeeegggggg.", 16)
    ',aaaaaaccccccB.Po,,,eeeeeegggggg.'
    """
    before = text[:at].rstrip(",")
    gone, newer = _RECORD.match(text, at), _RECORD.match(text, before.rindex(","))
    if gone is None or newer is None:
        return text
    offsets = _digits(_number(gone[1]) + _number(newer[1]))
    ms = _digits(max(_number(gone[3]), _number(newer[3])))
    return f"{text[: newer.start(1)]}{offsets}{newer[2]}{ms}{text[newer.end() : at + 1]}{text[gone.end() :]}"


def _digits(number: int) -> str:
    """Return a number in base64 digits, nothing for 0.

    >>> _digits(0), _digits(30_000), _digits(-64), _number(_digits(30_000)), _number("-BA"), _number("")
    ('', 'HUw', '-BA', 30000, -64, 0)
    """
    if number < 0:
        return f"-{_digits(-number)}"
    # Nearly every number has one of three lengths.
    if number < 1 << 6:
        return _DIGITS[number] if number else ""
    if number < 1 << 12:
        return _DIGITS[number >> 6] + _DIGITS[number & 63]
    return _digits(number >> 12) + _DIGITS[number >> 6 & 63] + _DIGITS[number & 63]


def _number(digits: str) -> int:
    if digits[:1] == "-":
        return -_number(digits[1:])
    number = 0
    for digit in digits:
        number = number << 6 | _VALUES[digit]
    return number


def unknown(records: int) -> str:
    """Return the text of records of which nothing is known, so that none is found in it.

    >>> unknown(3)
    ',,,'
    """
    return "," * records

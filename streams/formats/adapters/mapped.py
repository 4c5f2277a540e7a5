"""Any CSV file and any JSON lines, read by a mapping file: one row or line is one step.

A row without a tool is a model call: its words and its tokens go to the next row with one. Without times, row
n stands at second n of a made-up clock. Without ids, its number is its id.
"""

from __future__ import annotations

import csv
from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar, Final

from streams.formats.adapters.adapter import (
    CERTAIN,
    LONGEST_UNIT,
    NO,
    Format,
    IntakeReason,
    Problem,
    UnitKind,
)
from streams.formats.adapters.conversation import EPOCH_MS, Conversation
from streams.formats.adapters.heads import head_values
from streams.formats.adapters.log import Found, LogAdapter
from streams.formats.adapters.mapping import Mapping, found_at, parse_mapping
from streams.formats.adapters.record import AgentStep, block_text, milliseconds, number, whole

NAME: Final = "mapped"
LONGEST_ROW: Final = 1024 * 1024
"""Characters of the lines that are held while a quote is open."""

_MOST_COLUMNS_NAMED: Final = 20
_NO_ERROR: Final = frozenset({"", "0", "false", "no", "none", "null"})
_AN_ERROR: Final = frozenset({"1", "true", "yes"})


def mapped_format(toml_text: bytes) -> Format:
    """Return the format that a mapping file describes.

    Raises:
        ConfigurationError: with one sentence that says what is wrong with the file.
    """
    given = parse_mapping(toml_text)

    class Csv(_MappedCsv):
        mapping = given

    class Json(_MappedJson):
        mapping = given

    adapter = Csv if given.csv else Json
    return Format(NAME, UnitKind.LINES, adapter.sniff, adapter, adapter.resume)


class _Mapped(LogAdapter):
    """Reads one row after the other."""

    mapping: ClassVar[Mapping]

    @abstractmethod
    def value(self, row: Any, field: str) -> Any:
        """Return what a row says of a field, None if nothing."""

    def step(self, row: Any) -> Found:
        """Yield what one row completes."""
        count: int = self.memory.get("rows", 0) + 1
        self.memory["rows"] = count
        session_id = _name(self.value(row, "session_id"))
        if session_id is None:
            yield self.unknown(self.name, f"row {count:,} without session_id")
            return
        agent = _name(self.value(row, "agent_id")) or self.mapping.agent
        conversation = self.conversation(session_id, agent, self.mapping.agent)
        conversation.agent_id = agent
        at = milliseconds(_number(self.value(row, "timestamp")))
        at = EPOCH_MS + 1000 * count if at is None else at
        self.memory["at"] = at
        event_id = _name(self.value(row, "event_id")) or f"{session_id}/{count}"
        conversation.ask(block_text(self.value(row, "goal")))
        conversation.spend(whole(_number(self.value(row, "tokens"))))
        cost = number(_number(self.value(row, "cost")))
        if cost:
            conversation.cost = (conversation.cost or 0.0) + cost
        conversation.say(block_text(self.value(row, "intent")))
        tool = _name(self.value(row, "tool"))
        terminal = _word(self.value(row, "terminal")) in self.mapping.terminal_words
        if tool is not None:
            yield self._call(conversation, row, tool, event_id, at)
        if terminal:
            yield from conversation.finish(event_id, at)
            yield conversation.end(at, event_id=f"{event_id}/end")

    def close(self) -> Found:
        """Yield the words of each session's last turn, if it ended without a call."""
        for conversation in self.conversations.values():
            yield from conversation.finish(f"{conversation.session_id}/last", self.memory.get("at", EPOCH_MS))

    def _call(self, conversation: Conversation, row: Any, tool: str, event_id: str, at: int) -> Any:
        status, output = self._outcome(row)
        words, conversation.words = conversation.words, None
        arguments = self.value(row, "arguments")
        return conversation.entry(
            AgentStep(event_id, at, status=status, tool=tool, arguments=arguments, output=output, words=words)
        )

    def _outcome(self, row: Any) -> tuple[str, str | None]:
        """Return status and text of a call: an error is a failure, and so is an exit code other than zero."""
        result, error = block_text(self.value(row, "result")), self.value(row, "error")
        word, code = _word(self.value(row, "status")), _number(self.value(row, "exit_code"))
        if word in self.mapping.skipped:
            return "skipped", result
        failed = word in self.mapping.failure or (isinstance(code, int | float) and code != 0)
        said = None
        if isinstance(error, bool | int | float | str):
            if _word(error) not in _NO_ERROR:
                failed, said = True, None if _word(error) in _AN_ERROR else block_text(error)
        elif error:
            failed, said = True, block_text(error)
        return ("failure", said or result) if failed else ("success", result)


class _MappedJson(_Mapped):
    """Reads JSON lines."""

    def read(self, value: dict[str, Any]) -> Found:
        """Yield what one line completes."""
        yield from self.step(value)

    def value(self, row: Any, field: str) -> Any:
        """Return what the pointer of a field finds."""
        steps = self.mapping.pointers.get(field)
        return None if steps is None else found_at(row, steps)

    @classmethod
    def sniff(cls, head: bytes, _name: str) -> int:
        """Recognise lines in which the session is found."""
        values = [value for value in head_values(head) if isinstance(value, dict)]
        session = cls.mapping.pointers["session_id"]
        return CERTAIN if any(found_at(value, session) is not None for value in values) else NO


class _MappedCsv(_Mapped):
    """Reads a CSV file. Its first line names the columns; a text in quotes may hold line ends."""

    def read(self, value: dict[str, Any]) -> Found:
        """Yield what one row completes, by column."""
        yield from self.step(value)

    def value(self, row: Any, field: str) -> Any:
        """Return the text of a field's column, None if it is empty."""
        steps = self.mapping.pointers.get(field)
        return None if steps is None else row.get(steps[0]) or None

    def feed(self, unit: bytes) -> Found:
        """Yield what one line completes: nothing, if it ends within quotes."""
        line = unit.decode("utf-8", "replace")
        begun: list[str] = self.memory.pop("begun", [])
        begun.append(line)
        size: int = self.memory.pop("held", 0) + len(line) + 1
        if len(begun) > 1 and line.count('"') % 2 == 0:
            cells = None  # the quotes that a line above opened are open still
        else:
            cells = _cells("\n".join(begun), self.mapping.delimiter)
        if cells is None:
            if size > LONGEST_ROW:
                yield Problem(self.name, IntakeReason.UNREADABLE, f"a quote is open for {size:,} characters")
            else:
                self.memory |= {"begun": begun, "held": size}
        elif not cells:
            if any(each.strip() for each in begun):
                yield Problem(self.name, IntakeReason.UNREADABLE, "not a row of CSV")
        elif "columns" not in self.memory:
            yield from self._columns(cells)
        elif self.memory["columns"]:
            columns = self.memory["columns"]
            if len(cells) != len(columns):
                yield self.unknown(self.name, f"a row of {len(cells)} cells, not {len(columns)}")
            yield from self.read(dict(zip(columns, cells, strict=False)))
            yield from self.given_up()

    def close(self) -> Found:
        """Yield the words of the last turns, and a row that was cut within quotes."""
        yield from super().close()
        if "begun" in self.memory:
            yield Problem(self.name, IntakeReason.UNREADABLE, "the last row ends within quotes")

    def _columns(self, cells: list[str]) -> Iterator[Problem]:
        columns = [cell.removeprefix("\ufeff").strip() for cell in cells]
        missing = [steps[0] for steps in self.mapping.pointers.values() if steps[0] not in columns]
        self.memory["columns"] = [] if missing else columns
        if columns[0].startswith("{"):
            detail = "JSON, not CSV: write pointers such as /tool in the mapping"
        else:
            detail = f"no column {', '.join(missing)}: there are {', '.join(columns[:_MOST_COLUMNS_NAMED])}"
        if missing:
            yield self.unknown(self.name, detail)

    @classmethod
    def sniff(cls, head: bytes, _name: str) -> int:
        """Recognise a first line that has the columns."""
        cells = _cells(head.split(b"\n", 1)[0].decode("utf-8", "replace"), cls.mapping.delimiter) or []
        columns = {cell.removeprefix("\ufeff").strip() for cell in cells}
        return CERTAIN if all(steps[0] in columns for steps in cls.mapping.pointers.values()) else NO


def _cells(text: str, delimiter: str) -> list[str] | None:
    """Return the cells of a row: none if it is blank or no row, None if it ends within quotes."""
    csv.field_size_limit(LONGEST_UNIT)
    row = text.rstrip("\r").replace("\0", "\ufffd")
    try:
        return next(csv.reader([row], delimiter=delimiter, strict=True), [])
    except csv.Error as error:
        if "unexpected end of data" in str(error):
            return None
    try:
        return next(csv.reader([row], delimiter=delimiter), [])
    except csv.Error:
        return []


def _name(value: Any) -> str | None:
    """Return an id or a name, which may be a number; None for anything else."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value.strip() or None if isinstance(value, str) else None


def _word(value: Any) -> str:
    if isinstance(value, bool | int | float):
        return str(value).lower()
    return value.strip().lower() if isinstance(value, str) else ""


def _number(value: Any) -> Any:
    """Return the number that a text holds; any other value as it is."""
    if not isinstance(value, str) or len(value) > 40:
        return value
    try:
        return int(value)
    except ValueError:
        pass
    try:
        return float(value)
    except ValueError:
        return value

"""Whether every call of real sessions is read: calls in the files = records + calls named as not read.

The calls are counted without the adapters, by the ids that each program gives its calls. Sessions are found
with the tools of whoever measures; none is part of this project.

    python -m benchmarks.calls FOLDER...
"""

from __future__ import annotations

import gzip
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from streams.core.errors import ConfigurationError
from streams.formats.adapters.adapter import IntakeReason, Problem, UnitKind
from streams.formats.format_detection import HEAD_BYTES, sniffed, sniffed_in_lines
from streams.formats.registry import BY_NAME

_CODEX_CALLS = frozenset({"function_call", "custom_tool_call", "local_shell_call", "web_search_call"})
#: Members that hold what a call was asked with, or what it answered.
_MAY_HOLD_ANYTHING = frozenset({"input", "output", "toolUseResult", "arguments", "state"})


class Found(NamedTuple):
    """What came of one file.

    Attributes:
        path: the file that was read.
        format: the format it was read as, None if none fits.
        calls: distinct calls that stand in the file.
        records: distinct calls that became records.
        named: calls that a problem names: without a result, or without an id.
        problems: problems by reason.
        ignored: what was left out by design, by type.
    """

    path: Path
    format: str | None
    calls: int
    records: int
    named: int
    problems: Counter[str]
    ignored: Counter[str]

    @property
    def is_whole(self) -> bool:
        """Tell whether every call of the file is a record, or is named."""
        return self.format is not None and self.records + self.named >= self.calls


def values(data: bytes) -> Iterator[Any]:
    """Yield the values of a file: its lines, or the document."""
    try:
        yield orjson.loads(data)
    except orjson.JSONDecodeError:
        for line in data.splitlines():
            try:
                yield orjson.loads(line)
            except orjson.JSONDecodeError:
                continue


def call_ids(value: Any) -> Iterator[str]:
    """Yield the ids of the calls that a value holds, in the form of any program; one may come twice."""
    if isinstance(value, list):
        for each in value:
            yield from call_ids(each)
        return
    if not isinstance(value, dict) or value.get("type") == "progress":
        return  # progress repeats what a sub-agent's own file has
    own = _own_id(value)
    if own is not None:
        yield own
        return
    for name, each in value.items():
        if name in ("toolCalls", "tool_calls") and isinstance(each, list):
            yield from (str(call["id"]) for call in each if isinstance(call, dict) and "id" in call)
        elif name not in _MAY_HOLD_ANYTHING:
            yield from call_ids(each)


def _own_id(value: dict[str, Any]) -> str | None:
    """Return the id of a value that is a call."""
    match value:
        case {"type": str(kind), "id": str(call_id), "name": str()} if kind.endswith("tool_use"):
            return call_id
        case {"type": "toolCall", "id": str(call_id)} | {"type": "tool", "callID": str(call_id)}:
            return call_id
        case {"type": "response_item", "payload": {"type": str(kind)} as item} if kind in _CODEX_CALLS:
            return str(item.get("call_id") or item.get("id") or orjson.dumps(item)[:200])
        case _:
            return None


def read(path: Path) -> Found:
    """Return what came of one file."""
    data = path.read_bytes()
    data = gzip.decompress(data) if path.suffix == ".gz" else data
    calls = {each for value in values(data) for each in call_ids(value)}
    shown = path.name.removesuffix(".gz")
    name = sniffed(data[:HEAD_BYTES], shown) or sniffed_in_lines(data.splitlines(), shown)
    known = None if name is None else BY_NAME.get(name)
    if known is None:
        return Found(path, name, len(calls), 0, 0, Counter(), Counter())
    adapter = known.start(str(path))
    units = data.splitlines() if known.kind is UnitKind.LINES else [data]
    entries = [each for unit in units if unit.strip() for each in adapter.feed(unit)]
    entries += adapter.close()
    problems = [each for each in entries if isinstance(each, Problem)]
    named = sum(each.reason is IntakeReason.UNANSWERED for each in problems)
    records = {
        each.value["event_id"]
        for each in entries
        if not isinstance(each, Problem) and each.value is not None and each.value["action"]["kind"] == "tool"
    }
    return Found(
        path,
        name,
        len(calls),
        len(records),
        named,
        Counter(each.reason for each in problems),
        Counter(adapter.ignored),
    )


def main(folders: list[str]) -> int:
    """Print a line for each file that is not read whole, and the sums. The status is 1 if there is one."""
    files = [each for folder in folders for each in sorted(Path(folder).rglob("*")) if each.is_file()]
    sums: Counter[str] = Counter()
    formats: Counter[str | None] = Counter()
    problems: Counter[str] = Counter()
    for path in files:
        try:
            found = read(path)
        except (ConfigurationError, OSError, EOFError) as error:
            print(f"{path}: {error}")
            sums["files that cannot be read"] += 1
            continue
        formats[found.format] += 1
        problems.update(found.problems)
        sums += Counter(calls=found.calls, records=found.records, named=found.named)
        if not found.is_whole and (found.calls or found.format is None):
            sums["files that are not read whole"] += 1
            missing = found.calls - found.records - found.named
            print(f"{path}: {found.format}, {found.calls} calls, {missing} without a record or a name")
    print(f"{len(files):,} files:", ", ".join(f"{name} {count:,}" for name, count in formats.most_common()))
    print(", ".join(f"{name} {count:,}" for name, count in sums.items()))
    print("problems:", ", ".join(f"{name} {count:,}" for name, count in problems.most_common()) or "none")
    return 1 if sums["files that are not read whole"] or sums["files that cannot be read"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

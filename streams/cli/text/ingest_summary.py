"""What `eddy ingest` has read, for people: a line for each source, and what it could not use."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from streams.cli.text.line import Line, TextSpan
from streams.core.domain.text.amounts import count
from streams.core.domain.text.printable import printable
from streams.formats.ingest.ingestion import FormatAccount, IngestAccount

_MOST_NAMED: Final = 5
_REASONS: Final = {
    "unreadable": "unreadable",
    "unknown_shape": "of an unknown shape",
    "orphan_result": "results without a call",
    "unanswered": "calls without a result",
    "no_content": "calls without their arguments",
}


def summary(account: IngestAccount) -> Iterator[Line]:
    """Yield the lines."""
    for name, source in sorted(account.sources.items()):
        if source.paths:
            yield from _source(name, source)
    if account.unreadable:
        yield from _left_out(
            "could not be opened", sorted(account.unreadable), list(account.unreadable.values())
        )
    if account.unknown:
        yield from _left_out("of no known format left out", sorted(account.unknown), [])


def _source(name: str, source: FormatAccount) -> Iterator[Line]:
    problems = source.all_problems
    counts = [
        count(len(source.paths), "file"),
        count(source.records, "record"),
        f"{source.repeated:,} sent before" if source.repeated else "",
        f"{source.older:,} too old" if source.older else "",
        f"{count(source.all_ignored, 'line')} ignored",
        count(problems.total(), "problem"),
    ]
    yield Line.of(TextSpan(f"{name}: ", "bold"), TextSpan(", ".join(filter(None, counts))))
    for reason, number in problems.most_common():
        first = source.first[reason]
        where = printable(f"{first.where}: {first.detail}", 120)
        text = f"  {number:,} {_REASONS.get(reason, reason)}, first {where}"
        yield Line.of(TextSpan(text, "yellow"))


def _left_out(what: str, paths: Sequence[str], why: Sequence[str]) -> Iterator[Line]:
    named = ", ".join(printable(path, 80) for path in paths[:_MOST_NAMED])
    more = f" and {len(paths) - _MOST_NAMED:,} more" if len(paths) > _MOST_NAMED else ""
    reason = f" ({printable(why[0], 120)})" if why else ""
    yield Line.of(TextSpan(f"{count(len(paths), 'file')} {what}: {named}{more}{reason}", "yellow"))

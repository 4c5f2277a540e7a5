"""What a backtest found, for people and as JSON lines."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

from streams.cli.settings_choice import Chosen
from streams.cli.text.line import Line, TextSpan
from streams.core.backtest import Totals
from streams.core.domain.text.figures import count
from streams.core.domain.text.printable import printable
from streams.core.policy.comparison import DifferenceKind
from streams.core.policy.session_comparison import Detection, FoundBy, PublishedSide, SessionComparison
from streams.core.settings_document import to_document

_STYLES: Final = {
    FoundBy.ONLY_A: "bold red",
    FoundBy.ONLY_B: "bold red",
    FoundBy.BOTH: "yellow",
    FoundBy.NEITHER: "dim",
}


def heading_lines(a: Chosen, b: Chosen) -> Iterator[Line]:
    """What is compared: the two documents, and the settings in which they differ."""
    yield Line.of(TextSpan("A  ", "bold"), TextSpan(printable(a.name, 200)))
    yield Line.of(TextSpan("B  ", "bold"), TextSpan(printable(b.name, 200)))
    in_a, in_b = to_document(a.settings), to_document(b.settings)
    differing = [name for name in in_a if in_a[name] != in_b[name]]
    for name in differing:
        values = f"{json.dumps(in_a[name])} → {json.dumps(in_b[name])}"
        yield Line.of(TextSpan(f"   {name}: {printable(values, 200)}"))
    if not differing:
        yield Line.of(TextSpan("   They do not differ.", "dim"))
    yield Line()


def session_lines(session: SessionComparison) -> Iterator[Line]:
    """What would have changed for a session."""
    name = f"{printable(session.session_id, 80)} · {printable(session.agent_id, 40) or 'no agent'}"
    counts = f" · {count(session.records, 'record')}, {session.differing:,} would differ"
    yield Line.of(TextSpan("● ", _STYLES[session.found_by]), TextSpan(name, "bold"), TextSpan(counts))
    loop = _loop(session)
    if loop:
        yield Line.of(TextSpan(f"    loop {loop}", _STYLES[session.found_by]))
    changed = _changed(session.a.alerts, session.b.alerts)
    if changed:
        yield Line.of(TextSpan(f"    alerts {changed}"))
    yield Line.of(TextSpan(f"    differs in {_counted(session.kinds)}"))


def summary_lines(totals: Totals) -> Iterator[Line]:
    """The last lines: how much would have changed."""
    yield Line.of(
        TextSpan(f"{count(totals.records, 'record')}: ", "bold"),
        TextSpan(
            f"{totals.differing:,} would differ" + (f" ({_counted(totals.kinds)})" if totals.kinds else "")
        ),
    )
    if totals.rejected or totals.unreadable:
        yield Line.of(
            TextSpan(
                f"  left out: {totals.rejected:,} rejected under both, {totals.unreadable:,} unreadable",
                "yellow",
            )
        )
    yield Line.of(
        TextSpan(f"{count(totals.sessions, 'session')}: ", "bold"),
        TextSpan(f"{totals.differing_sessions:,} would differ"),
    )
    loops = totals.loops
    both = loops[FoundBy.BOTH]
    when = f" ({totals.earlier:,} earlier under B, {totals.later:,} later)" if both else ""
    yield Line.of(
        TextSpan("loops: ", "bold"),
        TextSpan(f"{both:,} under both{when}, {loops[FoundBy.ONLY_A]:,} only under A, "),
        TextSpan(f"{loops[FoundBy.ONLY_B]:,} only under B"),
    )
    alerts_a, alerts_b = totals.alerts_a, totals.alerts_b
    changed = _changed(alerts_a, alerts_b)
    yield Line.of(
        TextSpan("alerts: ", "bold"),
        TextSpan(f"{alerts_a.total():,} → {alerts_b.total():,}" + (f" ({changed})" if changed else "")),
    )


def session_fields(session: SessionComparison) -> dict[str, Any]:
    """The document of a session for machines; its keys are an interface others read."""
    return {
        "session_id": session.session_id,
        "agent_id": session.agent_id,
        "partition": session.partition,
        "records": session.records,
        "differing": session.differing,
        "differences": _in_order(session.kinds),
        "loop": str(session.found_by),
        "delay": session.delay,
        "a": _side(session.a),
        "b": _side(session.b),
    }


def summary_fields(a: Chosen, b: Chosen, totals: Totals) -> dict[str, Any]:
    """The last document for machines."""
    return {
        "summary": {
            "a": a.name,
            "b": b.name,
            "records": totals.records,
            "rejected": totals.rejected,
            "unreadable": totals.unreadable,
            "differing": totals.differing,
            "differences": _in_order(totals.kinds),
            "sessions": totals.sessions,
            "differing_sessions": totals.differing_sessions,
            "loops": {str(found): totals.loops[found] for found in FoundBy},
            "earlier": totals.earlier,
            "later": totals.later,
            "alerts_a": dict(sorted(totals.alerts_a.items())),
            "alerts_b": dict(sorted(totals.alerts_b.items())),
        }
    }


def _loop(session: SessionComparison) -> str:
    a, b = session.a.loop, session.b.loop
    match session.found_by, a, b:
        case FoundBy.ONLY_A, Detection(), _:
            return f"only under A: {_detection(a)}"
        case FoundBy.ONLY_B, _, Detection():
            return f"only under B: {_detection(b)}"
        case FoundBy.BOTH, Detection(), Detection():
            delay = b.record - a.record
            side = "earlier" if delay < 0 else "later"
            when = f"{count(abs(delay), 'record')} {side} under B" if delay else "at the same record"
            return f"under both, {when}: A {_detection(a)}; B {_detection(b)}"
        case _:
            return ""


def _detection(found: Detection) -> str:
    return f"{found.rule} at record {found.record:,} (offset {found.offset:,})"


def _changed(a: Mapping[str, int], b: Mapping[str, int]) -> str:
    rules = sorted({*a, *b})
    return ", ".join(
        f"{rule} {a.get(rule, 0):,} → {b.get(rule, 0):,}"
        for rule in rules
        if a.get(rule, 0) != b.get(rule, 0)
    )


def _counted(kinds: Counter[DifferenceKind]) -> str:
    return ", ".join(f"{kind} {count:,}" for kind, count in _in_order(kinds).items())


def _in_order(kinds: Counter[DifferenceKind]) -> dict[str, int]:
    return {str(kind): kinds[kind] for kind in DifferenceKind if kinds[kind]}


def _side(side: PublishedSide) -> dict[str, Any]:
    loop = None if side.loop is None else side.loop._asdict()
    return {"loop": loop, "alerts": dict(sorted(side.alerts.items()))}

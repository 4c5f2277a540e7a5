"""The results for people: tables in Markdown, every claim as a ratio."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from benchmarks.contender import Contender
from benchmarks.judging_tables import judging_tables
from benchmarks.markdown import number, table

Results = dict[str, Any]

RESULTS: Final = Path(__file__).parent / "results.json"

#: What stands between two such lines of the document is written by the benchmark.
_MARKERS = {
    "judging": ("<!-- judging: written by python -m benchmarks -->", "<!-- end of judging -->"),
    "engines": ("<!-- results: written by python -m benchmarks -->", "<!-- end of results -->"),
    "measured": ("<!-- measured: written by python -m benchmarks.scale -->", "<!-- end of measured -->"),
    "scale": ("<!-- scale: written by python -m benchmarks.scale -->", "<!-- end of scale -->"),
    "group": ("<!-- group: written by python -m benchmarks.scale -->", "<!-- end of group -->"),
    "partitions": (
        "<!-- partitions: written by python -m benchmarks.scale -->",
        "<!-- end of partitions -->",
    ),
    "standby": ("<!-- standby: written by python -m benchmarks.standby -->", "<!-- end of standby -->"),
}

#: How much of a peer's engine Eddy's may cost.
_ENGINE_AIMS = {Contender.FAUST: 0.1, Contender.QUIX: 0.5, Contender.PLAIN: 2.0}
_RESTORE_AIM = 10.0


def keep(name: str, value: Any) -> None:
    """Keep the figures of one part in place of those before."""
    kept = json.loads(RESULTS.read_text())
    RESULTS.write_text(as_json({**kept, name: value}))


def as_json(results: Results) -> str:
    """Return the results as they are kept; numbers that are none as null."""
    return json.dumps(_plain(results), indent=2, ensure_ascii=False, sort_keys=True) + "\n"


def _plain(value: Any) -> Any:
    match value:
        case dict():
            return {str(name): _plain(item) for name, item in value.items()}
        case list() | tuple():
            return [_plain(item) for item in value]
        case float():
            return None if math.isnan(value) else round(value, 3)
        case _:
            return value


def merged(kept: Results, results: Results) -> Results:
    """Return the kept results with those of a run; a run without a broker replaces its own part alone."""
    own = {"judging": _with_circumstances(results)} if "judging" in results else {}
    engines = {name: value for name, value in results.items() if name != "judging"}
    return {**kept, **(engines if _on_broker(results) else {}), **own}


def _with_circumstances(results: Results) -> Results:
    told = ("started", "minutes", "command", "machine", "pace")
    return {"cases": results["judging"], **{name: results[name] for name in told}}


def _on_broker(results: Results) -> bool:
    return any(part in results for part in ("cost", "latency", "recovery"))


def as_markdown(results: Results) -> dict[str, str]:
    """Return the results as text, by the place in the document they go to."""
    texts = {}
    if "judging" in results:
        texts["judging"] = "\n\n".join([circumstances(results), *judging_tables(results["judging"])]) + "\n"
    if _on_broker(results):
        texts["engines"] = (
            "\n\n".join([circumstances(results, on_broker=True), *_engine_tables(results)]) + "\n"
        )
    return texts


def _engine_tables(results: Results) -> list[str]:
    parts = []
    if "cost" in results:
        parts += [
            _engine_table(results["cost"]),
            _whole_table(results["cost"]),
            _stage_table(results["cost"]),
        ]
    if "latency" in results:
        parts.append(_latency_table(results["latency"]))
    if "recovery" in results:
        parts.append(_recovery_table(results["recovery"]))
    return parts


def update_document(document: Path, texts: Mapping[str, str]) -> None:
    """Replace what stands between the markers of a document for each of these places."""
    written = document.read_text(encoding="utf-8")
    for place, text in texts.items():
        begin, end = _MARKERS[place]
        before, rest = written.split(begin)
        _, after = rest.split(end)
        written = f"{before}{begin}\n\n{text}\n{end}{after}"
    document.write_text(written, encoding="utf-8")


def circumstances(results: Results, *, on_broker: bool = False) -> str:
    """Return when and how something was measured, and on what."""
    machine, paces = results["machine"], results["pace"]
    loads = [pace["load_average"] for pace in paces]
    loops = [pace["loop_ns"] for pace in paces]
    packages = ", ".join(f"{name} {version}" for name, version in machine["packages"].items())
    broker = f", broker: {results['broker']}, {results['partitions']} partitions" if on_broker else ""
    return (
        f"Measured {results['started']} in {results['minutes']} minutes with `{results['command']}`"
        f"{broker}.\n\n"
        f"{machine['processor']}, {machine['cores']} cores shared with whatever else ran; "
        f"{machine['system']}; Python {machine['python']}; {packages}. "
        f"Load average {min(loads)} to {max(loads)}; "
        f"an empty turn of a Python loop cost {min(loops)} to {max(loops)} ns."
    )


def _engine_table(cases: list[Results]) -> str:
    rows = []
    for case in cases:
        found = case["contenders"]
        eddy = found.get(str(Contender.EDDY), {}).get("engine_us")
        for name, one in found.items():
            peer = Contender(name)
            ratio = eddy / one["engine_us"] if eddy and peer is not Contender.EDDY else None
            rows.append(
                (
                    case["workload"],
                    peer.title,
                    number(one["engine_us"]),
                    number(one["engine_events_s"], 0),
                    number(one.get("total_minus_judging_us")),
                    number(ratio, 2),
                    _verdict(peer, ratio),
                )
            )
    head = ("workload", "engine", "CPU µs/event", "events/s", "total less judging", "Eddy ÷ this", "aim")
    return "### The engines alone\n\n" + table(head, rows)


def _verdict(peer: Contender, ratio: float | None) -> str:
    if ratio is None or math.isnan(ratio):
        return ""
    aim = _ENGINE_AIMS[peer]
    return f"≤ {aim:g}: {'met' if ratio <= aim else 'missed'}"


def _whole_table(cases: list[Results]) -> str:
    rows = []
    for case in cases:
        found = case["contenders"]
        eddy = found.get(str(Contender.EDDY), {})
        for name, one in found.items():
            if "total_us" not in one:
                continue
            faster = eddy["events_s"] / one["events_s"] if eddy.get("events_s") else None
            ratio = eddy["total_us"] / one["total_us"] if eddy.get("total_us") else None
            peer = Contender(name)
            rows.append(
                (
                    case["workload"],
                    peer.title,
                    number(one["total_us"]),
                    number(one["events_s"], 0),
                    number(one["rss_mb"], 0),
                    number(None if peer is Contender.EDDY else ratio, 2),
                    number(None if peer is Contender.EDDY else faster, 1),
                )
            )
    head = (
        "workload",
        "job",
        "CPU µs/event",
        "events/s",
        "MB",
        "Eddy's CPU ÷ this",
        "Eddy's rate ÷ this",
    )
    return "### The whole job, one worker\n\n" + table(head, rows)


def _stage_table(cases: list[Results]) -> str:
    rows = []
    for case in cases:
        stages = case["stages_us"]
        eddy = case["contenders"].get(str(Contender.EDDY), {})
        rest = eddy["engine_us"] - stages["snapshot"] if eddy else None
        rows.append(
            (
                case["workload"],
                *(number(stages[stage]) for stage in ("decode", "step", "encode", "snapshot")),
                number(rest),
                number(eddy.get("total_us")),
            )
        )
    head = (
        "workload",
        "decode",
        "admit + step",
        "encode",
        "snapshot",
        "rest of the engine",
        "measured total",
    )
    return "### Where Eddy's time goes, CPU µs/event\n\n" + table(head, rows)


def _latency_table(cases: list[Results]) -> str:
    rows = []
    for case in cases:
        eddy = case["contenders"].get(str(Contender.EDDY), {})
        rows += [
            (
                Contender(name).title,
                number(one["events_s"], 0),
                number(one["p50_ms"]),
                number(one["p99_ms"]),
                number(one["longest_ms"]),
                number(one["busy"], 2),
                number(eddy["p50_ms"] / one["p50_ms"] if eddy and name != Contender.EDDY else None, 2),
            )
            for name, one in case["contenders"].items()
        ]
    head = ("job", "events/s", "p50 ms", "p99 ms", "longest ms", "busy cores", "Eddy's p50 ÷ this")
    return "### From event to enriched record\n\n" + table(head, rows)


def _recovery_table(found: Results) -> str:
    measured = found["contenders"]
    eddy = measured.get(str(Contender.EDDY))
    rows = []
    for name, one in measured.items():
        ratio = eddy["records_s"] / one["records_s"] if eddy and name != Contender.EDDY else None
        aim = "" if ratio is None else f"≥ {_RESTORE_AIM:g}: {'met' if ratio >= _RESTORE_AIM else 'missed'}"
        rows.append(
            (
                Contender(name).title,
                number(one["records"], 0),
                number(one["seconds"], 2),
                number(one["records_s"], 0),
                number(one["cpu_us"]),
                number(ratio, 1),
                aim,
            )
        )
    head = ("worker", "sessions", "seconds", "records/s", "CPU µs/record", "Eddy's records/s ÷ this", "aim")
    return "### Restoring sessions from the changelog\n\n" + table(head, rows)

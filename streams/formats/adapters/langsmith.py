"""Runs of LangSmith, as ``list_runs`` and the run JSON lines give them: one object a run.

``dotted_order`` gives their order, whatever the order of the lines. ``session_id`` is the project: the thread
stands in the metadata of a run, else the trace is the session. The result of a tool is a message, whose
``tool_call_id`` names the call that a model asked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from streams.formats.adapters.adapter import CERTAIN, NO, Format, IntakeReason, Problem, UnitKind
from streams.formats.adapters.conversation import Conversation
from streams.formats.adapters.document import DocumentAdapter, DocumentValue
from streams.formats.adapters.heads import head_values
from streams.formats.adapters.log import Found
from streams.formats.adapters.record import (
    LONGEST_TEXT,
    AgentStep,
    argument_text,
    is_not_captured,
    milliseconds,
    not_captured,
    number,
    text_or_none,
    whole,
)
from streams.formats.adapters.tool_answer import answered_call, asked_calls, tool_answer

NAME: Final = "langsmith"
_THREAD_KEYS: Final = ("session_id", "conversation_id", "thread_id")


class LangsmithRun(NamedTuple):
    """What is kept of a run until all are known: a call of a tool, or the tokens of a model.

    Attributes:
        calls: ids of the calls that the model asked for, or of the one that the tool answers.
    """

    order: str
    trace_id: str
    agent: str | None
    step: AgentStep | None
    tokens: int | None = None
    cost: float | None = None
    cached: int | None = None
    calls: tuple[str, ...] = ()


class LangSmith(DocumentAdapter):
    """Reads the runs of one export."""

    def read(self, parts: Iterator[DocumentValue]) -> Found:
        """Yield the records of all runs in their order."""
        runs: dict[str, LangsmithRun] = {}
        threads: dict[str, str] = {}
        for part in parts:
            for value in _values(part.value):
                if not isinstance(value, dict) or not isinstance(value.get("run_type"), str):
                    yield self.unknown(self.name, "not a run")
                    continue
                run_id = text_or_none(value.get("id")) or f"run {len(runs)}"
                trace_id = text_or_none(value.get("trace_id")) or run_id
                thread = _thread(value)
                if thread is not None:
                    threads.setdefault(trace_id, thread)
                for run in self._run(value, run_id, trace_id):
                    if isinstance(run, LangsmithRun):
                        runs[run_id] = run
                    else:
                        yield run
        conversations: dict[str, Conversation] = {}
        asked: dict[tuple[str, str], str] = {}
        for run_id, run in sorted(runs.items(), key=lambda each: each[1].order):
            session_id = threads.get(run.trace_id, run.trace_id)
            conversation = conversations.setdefault(session_id, Conversation(session_id, NAME, NAME))
            conversation.spend(run.tokens, cached=run.cached)
            if run.cost:
                conversation.cost = (conversation.cost or 0.0) + run.cost
            if run.step is None:
                asked.update(dict.fromkeys(((session_id, each) for each in run.calls), run_id))
            else:
                conversation.trace_id = run.trace_id
                conversation.agent_id = run.agent or NAME
                rounds = (asked.get((session_id, each)) for each in run.calls)
                yield conversation.entry(run.step._replace(round_id=next(rounds, None)))

    def _run(self, value: dict[str, Any], run_id: str, trace_id: str) -> Iterator[LangsmithRun | Problem]:
        kind = value["run_type"]
        order = text_or_none(value.get("dotted_order")) or text_or_none(value.get("start_time")) or ""
        if kind == "llm":
            billed, cached = _tokens(value)
            cost, calls = _cost(value.get("total_cost")), tuple(asked_calls(value.get("outputs")))
            yield LangsmithRun(order, trace_id, None, None, billed, cost, cached, calls)
        elif kind == "tool":
            name, ended = text_or_none(value.get("name")) or "tool", milliseconds(value.get("end_time"))
            if ended is None:
                yield Problem(trace_id, IntakeReason.UNANSWERED, f"{name[:80]}, run {run_id[:80]}")
                return
            step = _step(value, name, run_id, ended)
            if is_not_captured(step.arguments):
                yield Problem(trace_id, IntakeReason.NO_CONTENT, f"{name[:80]}, run {run_id[:80]}")
            agent, call_id = text_or_none(_metadata(value).get("lc_agent_name")), _answered(value)
            yield LangsmithRun(order, trace_id, agent, step, calls=() if call_id is None else (call_id,))
        else:
            self.ignored[f"run of type {kind}"[:60]] += 1


def _answered(value: dict[str, Any]) -> str | None:
    """Return the id of the call that a run answers; a failed one has it in its metadata at most."""
    return answered_call(value.get("outputs")) or text_or_none(_metadata(value).get("tool_call_id"))


def _step(value: dict[str, Any], name: str, run_id: str, ended: int) -> AgentStep:
    inputs, outputs, error = value.get("inputs"), value.get("outputs"), text_or_none(value.get("error"))
    hidden = inputs is None or (inputs == {} and not outputs and error is None)
    answer = tool_answer(outputs)
    output = answer.text if error is None else error
    return AgentStep(
        event_id=run_id,
        at=ended,
        status="failure" if error is not None or answer.failed else "success",
        tool=name,
        arguments=not_captured(run_id) if hidden else argument_text(inputs),
        output=None if output is None else output[:LONGEST_TEXT],
        parent=text_or_none(value.get("parent_run_id")),
    )


def sniff(head: bytes, _name: str) -> int:
    """Recognise a run by its keys."""
    for value in head_values(head):
        for each in _values(value):
            if (
                isinstance(each, dict)
                and "run_type" in each
                and ("dotted_order" in each or "trace_id" in each)
            ):
                return CERTAIN
    return NO


def _values(value: Any) -> list[Any]:
    if isinstance(value, dict) and isinstance(value.get("runs"), list):
        return list(value["runs"])
    return value if isinstance(value, list) else [value]


def _metadata(value: dict[str, Any]) -> dict[str, Any]:
    extra = value.get("extra")
    metadata = extra.get("metadata") if isinstance(extra, dict) else None
    return metadata if isinstance(metadata, dict) else {}


def _thread(value: dict[str, Any]) -> str | None:
    metadata = _metadata(value)
    return next((found for key in _THREAD_KEYS if (found := text_or_none(metadata.get(key)))), None)


def _tokens(value: dict[str, Any]) -> tuple[int | None, int | None]:
    """Return the tokens that were billed in full, and those from a cache, which the prompt includes."""
    details = value.get("prompt_token_details")
    cached = whole(details.get("cache_read")) if isinstance(details, dict) else None
    total = whole(value.get("total_tokens"))
    if total is None:
        counts = [whole(value.get(key)) for key in ("prompt_tokens", "completion_tokens")]
        known = [count for count in counts if count is not None]
        total = sum(known) if known else None
    return (None if total is None else max(0, total - (cached or 0))), cached or None


def _cost(value: Any) -> float | None:
    """Return a cost, which exports write as text."""
    try:
        return number(float(value) if isinstance(value, str) else value)
    except ValueError:
        return None


FORMAT: Final = Format(NAME, UnitKind.DOCUMENT, sniff, LangSmith, LangSmith.resume)

"""R5: calls and results that hardly differ, without progress (specification 6.5)."""

from __future__ import annotations

from streams.detectors.verdict.settings import VerdictSettings
from streams.detectors.verdict.spacing import is_spaced
from streams.detectors.verdict.state import VerdictState
from streams.detectors.verdict.streak import NO_STREAK, Streak, longer
from streams.domain.decision import Decision
from streams.domain.text.bounded import bounded_hash
from streams.domain.text.marks import Marks

SENTENCE = "{tools}: {count} calls in a row in nearly the same words, with nearly the same results"


def may_count(decision: Decision, *, polling: bool) -> bool:
    """Tell whether a record may stand in a row of R5: with arguments and result, and without progress."""
    progress = decision.progress_delta
    if polling or (progress is not None and progress > 0) or decision.added_to_memory:
        return False
    return bool(decision.tool_call and decision.canonical_input and decision.result)


def row_of(
    state: VerdictState, decision: Decision, tool: str | None, outcome: str, settings: VerdictSettings
) -> Streak:
    """Return the row of near-duplicates that the record ends.

    Args:
        state: before the record.
        decision: the record, which `may_count`.
        tool: its tool, bounded.
        outcome: its letter.
        settings: the settings in force.
    """
    # What costs least is asked first: most records differ from the one before in tool or outcome.
    if not (state.argument_marks and state.result_marks):
        return NO_STREAK
    if state.tools[-1] != tool or state.outcomes[-1] != outcome:
        return NO_STREAK
    content_hash = decision.content_hash
    if content_hash is not None and bounded_hash(content_hash) != state.content_hash:
        return NO_STREAK
    previous = state.newest
    failing = outcome == "f"
    if is_spaced(decision.timestamp, previous[1], settings.poll_gap_ms, failing=failing):
        return NO_STREAK
    least = settings.near_duplicate_similarity
    varies = state.signature != decision.signature
    if not _has_its_words(state, decision) and not _alike(
        decision.argument_marks, state.argument_marks, least
    ):
        return NO_STREAK
    told_anew = state.result != decision.result_digest
    if told_anew and not _alike(decision.result_marks, state.result_marks, least):
        return NO_STREAK
    if told_anew and varies and _is_answered(state, decision):
        return NO_STREAK
    return longer(state.near_duplicates, previous, varies=varies)


def _is_answered(state: VerdictState, decision: Decision) -> bool:
    """Tell whether the result speaks of what is new in the call: the next entry of a list.

    Then it holds a word that is new in the arguments, and a new word besides, for a result that only quotes
    its call ("no results for ...") says nothing.
    """
    told = decision.result_marks.without(Marks(state.result_marks)).set
    asked = decision.argument_marks.without(Marks(state.argument_marks)).set
    return not told.isdisjoint(asked) and not told <= decision.argument_marks.set


def marks_of(state: VerdictState, decision: Decision) -> tuple[str, str]:
    """Return the words of arguments and result, with which the next record is compared.

    Args:
        state: before the record; the words it has of an equal text are not looked for again.
        decision: the record, which `may_count`.
    """
    told = state.result == decision.result_digest
    argument_marks = state.argument_marks if _has_its_words(state, decision) else ""
    result_marks = state.result_marks if told else ""
    return argument_marks or decision.argument_marks, result_marks or decision.result_marks


def _has_its_words(state: VerdictState, decision: Decision) -> bool:
    """Tell whether the arguments of a record have the words of the newest; equal calls need not (3.1b)."""
    if not state.plain or state.signature != decision.signature:
        return False
    return decision.canonical_input == decision.loose_input


def _alike(words: Marks, earlier: str, least: float) -> bool:
    return words.similarity(Marks(earlier), least) is not None

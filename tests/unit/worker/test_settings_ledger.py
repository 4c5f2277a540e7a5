"""The settings of a partition by offset: adopted behind what may be out, cut exactly, kept while needed."""

from dataclasses import replace
from pathlib import Path

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.core.detectors.settings import DEFAULTS, DetectionSettings
from streams.core.domain.run import Run
from streams.core.errors import StateError
from streams.core.settings_document import LARGEST_VERSION, Shadow, ShadowDocument, resolve
from streams.kafka.client import Stored
from streams.worker.settings_ledger import (
    RESERVED_AHEAD,
    LedgerEntry,
    SettingsLedger,
    ShadowEntry,
    outdated_ledger,
)
from streams.worker.state.changelog import SETTINGS_KEY


def settings(version: int) -> DetectionSettings:
    return resolve({"entropy_window_size": version + 1}, DEFAULTS, version)[0]


def run(*offsets: int) -> Run:
    return Run("t", 0, [Stored(0, offset, 0, b"k", b"v", ()) for offset in offsets])


def ledger(*first_offsets: int, reserved: int = 0) -> SettingsLedger:
    entries = [LedgerEntry(first, settings(version)) for version, first in enumerate(first_offsets, 1)]
    return SettingsLedger(tuple(entries), reserved)


def in_force_at(kept: SettingsLedger, offset: int) -> int:
    """Return the version that holds at an offset, found another way than `cut` does."""
    return max((e.settings.version for e in kept.entries if e.first_offset <= offset), default=0)


OFFSETS = st.lists(st.integers(0, 60), min_size=1, max_size=20, unique=True).map(sorted)
LEDGERS = st.lists(st.integers(0, 60), max_size=5).map(sorted).map(lambda firsts: ledger(*firsts))


@given(LEDGERS, OFFSETS)
def test_a_run_is_cut_where_settings_change_and_nowhere_else(
    kept: SettingsLedger, offsets: list[int]
) -> None:
    parts = list(kept.cut(run(*offsets)))
    cut = [(message.offset, used.version) for part, used, _ in parts for message in part.messages]
    assert cut == [(offset, in_force_at(kept, offset)) for offset in offsets]
    versions = [used.version for _, used, _ in parts]
    assert sorted(set(versions)) == versions


def test_a_run_under_one_version_is_handed_on_as_it_is() -> None:
    whole = run(5, 6, 7)
    [(part, used, _)] = ledger(0).cut(whole)
    assert part is whole
    assert used == settings(1)


@given(LEDGERS)
def test_what_is_stored_is_read_back(kept: SettingsLedger) -> None:
    assert SettingsLedger.decode(kept.encode()) == kept


def test_nothing_stored_is_an_empty_ledger() -> None:
    assert SettingsLedger.decode(None) == SettingsLedger()
    assert SettingsLedger().newest == LedgerEntry(0, DEFAULTS)


@pytest.mark.parametrize(
    "stored",
    [
        b"",
        b"{",
        b"7",
        b"[1]",
        b'{"a": 1}',
        b"[3, 0, [], []]",
        b"[3, 0, [], [], 7]",
        b"[5, 0, [], [], null]",
        b'["1", 0, []]',
        b"[2, 0, []]",
        b"[1, 0, [], []]",
        b"[1, 0, 6]",
        b"[1, 0, [[3, 1]]]",
        b"[1, 0, [[3, 1, 7]]]",
        b"[2, 0, [], [[3, 2, 5, 1, []]]]",
    ],
)
def test_a_ledger_nobody_can_read_is_an_error_that_says_what_to_do(stored: bytes) -> None:
    with pytest.raises(StateError, match=r"Start the newer|Delete the data directory"):
        SettingsLedger.decode(stored)


def test_newer_settings_take_effect_with_the_run() -> None:
    before = ledger(10, reserved=500)
    after = before.prepare(run(20, 21), settings(2), unseen=0, committed=None)
    assert after.entries == (*before.entries, LedgerEntry(20, settings(2)))


def test_a_partition_at_the_end_of_the_versions_takes_the_document_after_it() -> None:
    stuck = replace(settings(2), version=LARGEST_VERSION)
    before = SettingsLedger((LedgerEntry(10, stuck),), reserved=90)
    after = before.prepare(run(20), settings(1), unseen=0, committed=15)
    assert after.newest == LedgerEntry(20, settings(1))
    assert outdated_ledger(before.encode(), after.encode())
    assert not outdated_ledger(after.encode(), before.encode())


@pytest.mark.parametrize("version", [1, 0])
def test_settings_that_are_not_newer_change_nothing(version: int) -> None:
    before = ledger(10, reserved=500)
    assert before.prepare(run(20), settings(version), unseen=0, committed=15) is before


def test_a_successor_adopts_behind_what_its_predecessor_may_have_put_out() -> None:
    after = ledger(10, reserved=500).prepare(run(20), settings(2), unseen=90, committed=None)
    assert after.newest == LedgerEntry(90, settings(2))
    assert [used.version for _, used, _ in after.cut(run(20, 89, 90))] == [1, 2]


def test_a_replay_from_before_the_newest_entry_does_not_move_it() -> None:
    after = ledger(10, 50, reserved=500).prepare(run(20, 60), settings(3), unseen=0, committed=None)
    assert [entry.first_offset for entry in after.entries] == [10, 50, 50]
    assert [used.version for _, used, _ in after.cut(run(20, 49, 50))] == [1, 3]


def test_offsets_are_reserved_before_they_are_used_and_not_for_each_run() -> None:
    first = SettingsLedger().prepare(run(0, 1), DEFAULTS, unseen=0, committed=None)
    assert first.reserved == 2 + RESERVED_AHEAD
    assert first.prepare(run(2, first.reserved - 1), DEFAULTS, unseen=0, committed=None) is first
    assert first.prepare(run(first.reserved), DEFAULTS, unseen=0, committed=None).reserved > first.reserved


@given(LEDGERS, st.integers(0, 60), OFFSETS)
def test_what_the_commit_has_not_passed_keeps_its_settings(
    before: SettingsLedger, committed: int, offsets: list[int]
) -> None:
    after = before.prepare(run(*offsets), settings(9), unseen=0, committed=committed)
    needed = range(committed, after.newest.first_offset)
    assert [in_force_at(after, offset) for offset in needed] == [in_force_at(before, n) for n in needed]
    assert sum(entry.first_offset <= committed for entry in after.entries) <= 1


# -- what is tried out ---------------------------------------------------------------------------------------


def tried(version: int, position: int | None = None) -> ShadowDocument:
    return ShadowDocument(version if position is None else position, version, settings(version))


def off(position: int) -> ShadowDocument:
    return ShadowDocument(position)


SHADOWS = st.lists(st.tuples(st.integers(0, 60), st.booleans()), max_size=5).map(
    lambda entries: tuple(
        ShadowEntry(first, first // 2, tried(number, number) if on else off(number))
        for number, (first, on) in enumerate(sorted(entries), 1)
    )
)


def tried_at(shadows: tuple[ShadowEntry, ...], offset: int) -> Shadow | None:
    """Return what is tried out at an offset, found another way than `cut` does."""
    return next((entry.shadow for entry in reversed(shadows) if entry.first_offset <= offset), None)


@given(LEDGERS, SHADOWS, OFFSETS)
def test_a_run_is_cut_where_what_is_tried_out_changes_too(
    kept: SettingsLedger, shadows: tuple[ShadowEntry, ...], offsets: list[int]
) -> None:
    kept = SettingsLedger(kept.entries, 0, shadows)
    parts = list(kept.cut(run(*offsets)))
    assert [
        (message.offset, used.version, shadow) for part, used, shadow in parts for message in part.messages
    ] == [(offset, in_force_at(kept, offset), tried_at(shadows, offset)) for offset in offsets]
    boundaries = {entry.first_offset for entry in kept.entries} | {entry.first_offset for entry in shadows}
    assert len(parts) <= 1 + len(boundaries)


@given(LEDGERS, SHADOWS)
def test_what_is_tried_out_is_read_back(kept: SettingsLedger, shadows: tuple[ShadowEntry, ...]) -> None:
    whole = SettingsLedger(kept.entries, 77, shadows, "topic")
    assert SettingsLedger.decode(whole.encode()) == whole


def test_a_ledger_of_the_version_without_shadows_is_read() -> None:
    file = Path(__file__).parents[2] / "changelogs" / "scores_only.jsonl"
    records = [orjson.loads(line) for line in file.read_bytes().splitlines()]
    [stored] = [record["value"] for record in records if record["key"] == SETTINGS_KEY.decode()]
    assert orjson.loads(stored)[0] == 1
    restored = SettingsLedger.decode(stored.encode())
    assert restored.entries
    assert restored.shadows == ()
    assert SettingsLedger.decode(restored.encode()) == restored


def test_settings_that_a_version_without_some_of_them_took_have_defaults_for_those_until_the_next() -> None:
    """What docs/upgrade.md says of settings that are published while workers of version 0.1 still run."""
    published = replace(DEFAULTS, entropy_window_size=7, stuck_loop=9, version=4)
    taken_by_it = SettingsLedger.decode(b'[1,500,[[10,4,{"entropy_window_size":7}]]]')
    kept = taken_by_it.prepare(run(20), published, unseen=0, committed=None)
    assert kept.newest.settings == replace(DEFAULTS, entropy_window_size=7, version=4)
    again = kept.prepare(run(21), replace(published, version=5), unseen=0, committed=None)
    assert again.newest.settings == replace(published, version=5)


def test_a_shadow_begins_with_the_run_and_behind_what_may_be_out() -> None:
    begun = SettingsLedger(reserved=500).prepare(
        run(20, 21), DEFAULTS, shadow=tried(1), unseen=0, committed=None
    )
    assert begun.shadows == (ShadowEntry(20, 20, tried(1)),)
    assert begun.prepare(run(22), DEFAULTS, shadow=tried(1), unseen=0, committed=None) is begun
    after = SettingsLedger(reserved=500).prepare(
        run(20), DEFAULTS, shadow=tried(1), unseen=90, committed=None
    )
    assert [entry.first_offset for entry in after.shadows] == [90]


def test_a_changed_shadow_goes_on_and_one_after_a_pause_begins_anew() -> None:
    kept = SettingsLedger(reserved=500)
    for offset, document in ((10, tried(1)), (20, tried(2)), (30, off(3)), (40, tried(1, 4))):
        kept = kept.prepare(run(offset), DEFAULTS, shadow=document, unseen=0, committed=None)
    assert [shadow and shadow.since for _, _, shadow in kept.cut(run(5, 15, 25, 35, 45))] == [
        None,
        10,
        10,
        None,
        40,
    ]


@pytest.mark.parametrize("document", [off(0), off(9), tried(1), tried(1, 9), tried(7, 0)])
def test_what_says_nothing_new_or_is_older_changes_no_ledger(document: ShadowDocument) -> None:
    kept = SettingsLedger(reserved=500)
    if document.settings is not None:
        kept = kept.prepare(run(10), DEFAULTS, shadow=tried(1, 1), unseen=0, committed=None)
    assert kept.prepare(run(20), DEFAULTS, shadow=document, unseen=0, committed=15) is kept


@given(SHADOWS, st.integers(0, 60), OFFSETS)
def test_what_the_commit_has_not_passed_keeps_what_was_tried_out(
    shadows: tuple[ShadowEntry, ...], committed: int, offsets: list[int]
) -> None:
    before = SettingsLedger(reserved=500, shadows=shadows)
    after = before.prepare(run(*offsets), DEFAULTS, shadow=tried(9), unseen=0, committed=committed)
    needed = range(committed, after.shadows[-1].first_offset)
    assert [tried_at(after.shadows, n) for n in needed] == [tried_at(shadows, n) for n in needed]


@pytest.mark.parametrize(
    ("stored", "source"),
    [
        (b"[1, 7, []]", None),
        (b"[2, 7, [], []]", None),
        (b"[3, 7, [], [], null]", None),
        (b'[3, 7, [], [], "topic"]', "topic"),
    ],
)
def test_every_format_there_was_is_read(stored: bytes, source: str | None) -> None:
    assert SettingsLedger.decode(stored) == SettingsLedger(reserved=7, source=source)


def test_a_ledger_that_names_no_topic_takes_note_of_the_one_its_run_comes_from() -> None:
    before = SettingsLedger(reserved=500)
    after = before.prepare(run(20), DEFAULTS, unseen=0, committed=None, source="topic")
    assert after == SettingsLedger(reserved=500, source="topic")


@pytest.mark.parametrize("source", ["topic", None])
def test_the_topic_that_a_ledger_names_stays(source: str | None) -> None:
    before = SettingsLedger(reserved=500, source="topic")
    assert before.prepare(run(20), DEFAULTS, unseen=0, committed=None, source=source) is before

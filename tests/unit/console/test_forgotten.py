"""A session that was forgotten is in no row, whatever is read before the order or after it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streams.console.archive.archive import Archive
from streams.console.archive.row_store import recall, restored
from streams.console.archive_flush import ArchiveFlush
from streams.console.read_model.model import ReadModel
from streams.console.read_model.rows import ActionRow, ForgottenRow, Row, TriageRow
from streams.console.read_model.tables import TABLES
from streams.console.topic_follower import FollowerSettings
from streams.core.domain.topic import Topic
from tests.unit.console.told import Told, everything, folded, forgotten

RECORDS = everything()
ALERTS = [told for told in RECORDS if (told.fields or {}).get("event_type") == "loop_episode"]
GONE = str((ALERTS[0].fields or {})["session_id"])
#: An order behind all that the session said.
LAST = max(told.stored.timestamp for told in RECORDS)
OFFSET = 1_000_000
PARTITION = int((ALERTS[0].fields or {})["partition"])
ORDER = forgotten(GONE, PARTITION, OFFSET, 9_000_000, LAST)


def about(row: Row) -> bool:
    """Tell whether a row names the session."""
    return GONE in {getattr(row, "session_id", None), getattr(row, "target", None)}


def others(rows: Iterator[Row]) -> list[str]:
    """Return rows, without decisions: those name an episode, which is known while its alert is."""
    return sorted(
        repr(row)
        for row in rows
        if not isinstance(row, ForgottenRow | TriageRow | ActionRow) and not about(row)
    )


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32).map(Random))
def test_whatever_the_order_comes_before_or_after_no_row_is_about_the_session(random: Random) -> None:
    records = [*RECORDS, ORDER]
    random.shuffle(records)
    model = folded(records)
    assert not [row for row in model.rows() if about(row)]
    assert others(model.rows()) == others(folded(RECORDS).rows())
    assert GONE not in model.attention(LAST)


def test_its_decisions_and_the_actions_about_it_go_with_what_was_known_of_it() -> None:
    model = folded(RECORDS)
    episodes = set(model.cases[GONE].episodes)
    assert episodes & set(model.ledger.triage)
    model.take(*ORDER)
    assert not episodes & set(model.ledger.triage)
    assert not [row for row in model.ledger.actions.values() if row.target in episodes]


def test_what_it_says_behind_the_order_begins_a_new_session() -> None:
    model = folded([*RECORDS, ORDER])
    alert = ALERTS[0]
    assert alert.fields is not None
    later = {**alert.fields, "offset": OFFSET + 1, "id": "later"}
    model.take(alert.topic, alert.stored._replace(timestamp=LAST - 1), later)
    case = model.cases[GONE]
    assert (len(case.findings), len(case.episodes)) == (1, 1)


def test_a_dead_letter_of_it_is_not_listed_any_more() -> None:
    model = folded(RECORDS)
    letter = next(row for row in model.ledger.letters.values() if row.session_id is not None)
    gone = forgotten(str(letter.session_id), 0, OFFSET, 9_000_000, letter.ts)
    assert gone.stored.timestamp == letter.ts
    model.take(*gone)
    assert letter.session_id not in {row.session_id for row in model.ledger.letters.values()}


def test_a_tombstone_without_an_order_forgets_nobody() -> None:
    stored = ORDER.stored._replace(headers=())
    model = folded([*RECORDS, Told(Topic.TOPOLOGY, stored, None)])
    assert GONE in model.cases
    assert GONE not in model.erasing


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[Archive]:
    made = Archive(tmp_path / "archive")
    yield made
    made.close()


def every_row(archive: Archive) -> list[Row]:
    return [row for table in TABLES for row in archive.rows(table)]


async def test_the_archive_loses_every_row_of_it_with_the_next_flush(archive: Archive) -> None:
    model = ReadModel(recall=recall(archive))
    flush = ArchiveFlush(model, archive, list, FollowerSettings(), lambda: LAST)
    folded(RECORDS, model)
    await flush.flush()
    before = every_row(archive)
    episodes = {row.episode_id for row in before if about(row) and hasattr(row, "episode_id")}
    assert [row for row in before if isinstance(row, TriageRow) and row.episode_id in episodes]
    model.take(*ORDER)
    # Until then it does not come back from there.
    assert model.find(GONE) is None
    await flush.flush()
    after = every_row(archive)
    assert not [row for row in after if about(row) or getattr(row, "episode_id", None) in episodes]
    assert others(iter(after)) == others(iter(before))
    assert not model.erasing


async def test_an_order_amid_a_flush_erases_what_that_flush_writes(archive: Archive) -> None:
    model = ReadModel(recall=recall(archive))
    flush = ArchiveFlush(model, archive, list, FollowerSettings(), lambda: LAST)
    folded(RECORDS, model)

    class Slow:
        """Lets the order come when half of the rows are collected."""

        def __getattr__(self, name: str) -> object:
            return getattr(model, name)

        def draining(self) -> Iterator[tuple[object, Row]]:
            rows = list(model.draining())
            for number, each in enumerate(rows):
                if number == len(rows) // 2:
                    model.take(*ORDER)
                yield each

    flush._model = Slow()  # type: ignore[assignment]
    await flush.flush()
    await flush.flush()
    assert not [row for row in every_row(archive) if about(row)]


async def test_a_console_that_starts_again_knows_who_was_forgotten_by_no_name(
    archive: Archive,
) -> None:
    model = ReadModel(recall=recall(archive))
    flush = ArchiveFlush(model, archive, list, FollowerSettings(), lambda: LAST)
    folded([*RECORDS, ORDER], model)
    await flush.flush()
    again = ReadModel(recall=recall(archive))
    for rows in restored(archive, LAST, 15, 200_000):
        again.restore(rows)
    folded(RECORDS, again)
    assert not [row for row in again.rows() if about(row)]
    assert GONE not in "".join(row.digest for row in again.rows() if isinstance(row, ForgottenRow))

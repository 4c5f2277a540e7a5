"""A session that was forgotten is in no row, whatever is read before the order or after it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streams.console.archive.archive import Archive
from streams.console.archive.row_store import recall, restored
from streams.console.archive_flush import ArchiveFlush
from streams.console.read_model.model import ReadModel
from streams.console.read_model.rows import (
    ActionRow,
    EpisodeRow,
    ForgottenRow,
    Row,
    SessionRow,
    TriageRow,
)
from streams.console.read_model.tables import FINDING, TABLES
from streams.console.topic_follower import FollowerSettings
from streams.control.audit import AuditRecord
from streams.core.domain.erasure import NO_SESSION, SESSION, session_digest
from streams.core.domain.topic import Topic
from tests.unit.console.told import Told, Topics, everything, folded, forgotten

RECORDS = everything()
ALERTS = [told for told in RECORDS if (told.fields or {}).get("event_type") == "loop_episode"]
GONE = str((ALERTS[0].fields or {})["session_id"])
#: An order behind all that the session said.
LAST = max(told.stored.timestamp for told in RECORDS)
OFFSET = 1_000_000
PARTITION = int((ALERTS[0].fields or {})["partition"])
ORDER = forgotten(GONE, PARTITION, OFFSET, 9_000_000, LAST)


#: What decisions about it name.
EPISODES = {
    str(told.fields["episode_id"])
    for told in ALERTS
    if told.fields is not None and told.fields["session_id"] == GONE
}


def audited(at: int, session_id: str = GONE) -> Told:
    """Return what the audit says of an order, with its result five seconds later."""
    request = orjson.dumps({"order": "o-1", "sessions": [session_digest(session_id), "nobody"]}).decode()
    fields = AuditRecord(id=f"a-{at}", at=at, who="ana", kind="forget", request=request).fields()
    stored = ORDER.stored._replace(timestamp=at + 5_000, headers=(), value=b"")
    return Told(Topic.CONSOLE_ACTIONS, stored, fields)


def about(row: Row) -> bool:
    """Tell whether a row names the session, or an episode of it."""
    named = {getattr(row, name, None) for name in ("session_id", "target", "episode_id")}
    return not named.isdisjoint({GONE, f"session/{GONE}", *EPISODES})


def others(rows: Iterator[Row]) -> list[str]:
    """Return the rows that are not about it."""
    return sorted(repr(row) for row in rows if not isinstance(row, ForgottenRow) and not about(row))


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32).map(Random))
def test_whatever_the_order_comes_before_or_after_no_row_is_about_the_session(random: Random) -> None:
    records = [*RECORDS, ORDER]
    random.shuffle(records)
    model = folded(records)
    assert not [row for row in model.rows() if about(row)]
    assert others(model.rows()) == others(folded(RECORDS).rows())
    assert GONE not in model.attention(LAST)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32).map(Random))
def test_the_audit_alone_says_it_where_the_tombstone_is_gone(random: Random) -> None:
    records = [*RECORDS, audited(LAST)]
    random.shuffle(records)
    model = folded(records)
    assert not [row for row in model.rows() if about(row)]
    alert = ALERTS[0]
    model.take(
        alert.topic, alert.stored._replace(timestamp=LAST + 1), {**(alert.fields or {}), "id": "later"}
    )
    assert GONE in model.cases


def test_a_loop_that_began_behind_the_order_stays_open_though_it_was_read_before() -> None:
    alert = next(told for told in ALERTS if (told.fields or {})["session_id"] == GONE)
    again = {
        **(alert.fields or {}),
        "offset": OFFSET + 5,
        "first_offset": OFFSET + 2,
        "episode_id": "e-later",
        "id": "later",
    }
    later = Told(alert.topic, alert.stored._replace(timestamp=LAST + 1), again)
    model = folded([*RECORDS, later, ORDER])
    assert [*model.cases[GONE].episodes] == ["e-later"]
    assert model.cases[GONE].session.last_ts == LAST + 1
    assert not EPISODES & {row.episode_id for row in model.rows() if isinstance(row, EpisodeRow)}
    # The archive gets what is left of it anew.
    assert {row.episode_id for _, row in model.drain() if isinstance(row, EpisodeRow)} >= {"e-later"}


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


def test_orders_in_other_partitions_take_nothing_from_what_it_says_behind_its_own() -> None:
    elsewhere = [forgotten(GONE, PARTITION + each, 5, 9_000_000 + each, LAST) for each in (1, 2)]
    alert = next(told for told in ALERTS if (told.fields or {})["session_id"] == GONE)
    later = {**(alert.fields or {}), "offset": OFFSET + 1, "first_offset": OFFSET + 1, "id": "later"}
    model = folded([*RECORDS, ORDER, *elsewhere])
    # Its producer's clock is behind that of the command.
    model.take(alert.topic, alert.stored._replace(timestamp=LAST - 1), later)
    assert [*model.cases[GONE].findings] == ["later"]


def test_a_later_order_of_which_only_the_audit_is_left_covers_what_stands_behind_the_first() -> None:
    alert = next(told for told in ALERTS if (told.fields or {})["session_id"] == GONE)
    between = {**(alert.fields or {}), "offset": OFFSET + 1, "first_offset": OFFSET + 1, "id": "between"}
    told = Told(alert.topic, alert.stored._replace(timestamp=LAST + 10), between)
    model = folded([*RECORDS, ORDER, told, audited(LAST + 20)])
    assert GONE not in model.cases
    model.take(*told)
    assert GONE not in model.cases


def test_decisions_about_the_session_that_begins_again_count() -> None:
    model = folded([*RECORDS, ORDER])
    subject = f"session/{GONE}"
    decided = Topics().triage("ack", subject, LAST + 10)
    model.take(decided.topic, decided.stored._replace(timestamp=LAST + 10), decided.fields)
    assert subject in model.ledger.triage


def test_by_the_audit_alone_letters_and_actions_in_memory_go_too() -> None:
    model = folded(RECORDS)
    letter = next(row for row in model.ledger.letters.values() if row.session_id is not None)
    model.take(*audited(LAST + 5, str(letter.session_id)))
    assert letter.session_id not in {row.session_id for row in model.ledger.letters.values()}


def test_the_tombstone_of_an_order_that_found_nothing_forgets_nobody() -> None:
    headers = (*ORDER.stored.headers, (SESSION, GONE.encode()))
    model = folded(
        [*RECORDS, Told(Topic.TOPOLOGY, ORDER.stored._replace(key=NO_SESSION, headers=headers), None)]
    )
    assert GONE in model.cases


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
    assert session_digest(GONE) not in model.erasing().digests


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
    assert {type(row) for row in before if about(row)} >= {TriageRow, ActionRow, EpisodeRow, SessionRow}
    model.take(*ORDER)
    # Until then it does not come back from there.
    assert model.find(GONE) is None
    await flush.flush()
    after = every_row(archive)
    assert not [row for row in after if about(row)]
    assert others(iter(after)) == others(iter(before))
    assert not any(model.erasing())


async def test_what_only_the_archive_has_goes_too_and_the_decisions_in_memory(archive: Archive) -> None:
    model = ReadModel(recall=recall(archive), live_minutes=1)
    flush = ArchiveFlush(model, archive, list, FollowerSettings(), lambda: LAST)
    folded(RECORDS, model)
    await flush.flush()
    model.cases.pop(GONE)
    assert EPISODES & set(model.ledger.triage)
    model.take(*ORDER)
    assert not [row for row in model.rows() if about(row)]
    await flush.flush()
    assert not [row for row in every_row(archive) if about(row)]


async def test_what_the_archive_has_of_it_behind_the_order_stays_there(archive: Archive) -> None:
    model = ReadModel(recall=recall(archive), live_minutes=1)
    flush = ArchiveFlush(model, archive, list, FollowerSettings(), lambda: LAST)
    alert = next(told for told in ALERTS if (told.fields or {})["session_id"] == GONE)
    later = {**(alert.fields or {}), "offset": OFFSET + 1, "first_offset": OFFSET + 1, "id": "later"}
    folded([*RECORDS, Told(alert.topic, alert.stored._replace(timestamp=LAST + 1), later)], model)
    await flush.flush()
    model.cases.pop(GONE)
    model.take(*ORDER)
    await flush.flush()
    assert {row.id for row in archive.rows(FINDING, "WHERE session_id = ?", (GONE,))} == {"later"}  # type: ignore[union-attr]


async def test_actions_that_name_it_go_where_nothing_else_of_it_is_left(archive: Archive) -> None:
    model = ReadModel(recall=recall(archive))
    flush = ArchiveFlush(model, archive, list, FollowerSettings(), lambda: LAST)
    decided = Topics().triage("ack", "session/s-old", LAST - 10)
    model.take(*decided)
    await flush.flush()
    model.take(*forgotten("s-old", 0, OFFSET, 9, LAST))
    assert not model.ledger.triage
    await flush.flush()
    assert not [row for row in every_row(archive) if isinstance(row, TriageRow | ActionRow)]


async def test_a_second_order_while_the_first_is_written_is_not_forgotten(archive: Archive) -> None:
    model = ReadModel(recall=recall(archive))
    flush = ArchiveFlush(model, archive, list, FollowerSettings(), lambda: LAST)
    folded([*RECORDS, ORDER], model)
    alert = ALERTS[0]
    later = {**(alert.fields or {}), "offset": OFFSET + 1, "first_offset": OFFSET + 1, "id": "later"}
    model.take(alert.topic, alert.stored._replace(timestamp=LAST + 1), later)
    save = archive.save

    def save_and_order(*given: Any) -> Any:
        model.take(*forgotten(GONE, PARTITION, OFFSET + 9, 9_000_001, LAST + 2))
        return save(*given)

    archive.save = save_and_order  # type: ignore[method-assign]
    await flush.flush()
    archive.save = save  # type: ignore[method-assign]
    await flush.flush()
    assert not [row for row in every_row(archive) if about(row)]


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
    assert session_digest(GONE) in {row.digest for row in again.rows() if isinstance(row, ForgottenRow)}

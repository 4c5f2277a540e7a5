"""The table gives an epoch its sessions, decoded once, and forgets what somebody else may have changed."""

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest
from faust.types import TP

from schemas.codec import Codec
from streams.core.detectors.settings import DEFAULTS
from streams.core.domain.run import Run
from streams.core.domain.session import Session
from streams.core.errors import StateError
from streams.kafka.client import Stored
from streams.observe.settings import WorkerSettings
from streams.worker.batch import Job
from streams.worker.run_result import RunResult
from streams.worker.settings_ledger import LedgerEntry, SettingsLedger
from streams.worker.state.changelog import SETTINGS_KEY, encode_session, session_key
from streams.worker.state.table import SessionTable, StateView
from streams.worker.wiring import build
from tests.integration.load import as_json, decision

CACHED = 4
AT = 1_700_000_000_000
RUN = Run("decision-logs", 0, [Stored(0, 0, -1, None, b"", ())])
JOB = Job(Codec.bundled(), group="g", version="1")


class Sessions(dict[str, Session]):
    """Sessions as the job wants them."""

    def put(self, session: Session, session_id: str) -> None:
        self[session_id] = session


def session(session_id: str, records: int = 1) -> Session:
    """Return a session after so many records."""
    found = Sessions()
    messages = [
        Stored(0, offset, -1, session_id.encode(), as_json(decision(session_id, offset)), ())
        for offset in range(records)
    ]
    JOB.fold(Run("decision-logs", 0, messages), found, DEFAULTS, RunResult())
    return found[session_id]


@pytest.fixture
def table(tmp_path: Path) -> Iterator[SessionTable]:
    settings = WorkerSettings(_env_file=None, data_dir=tmp_path, session_cache=CACHED)
    table = build(settings).sessions
    yield table
    table.stores.close_all()


def write(table: SessionTable, offset: int, **sessions: Session) -> None:
    """Let an epoch of partition 0 set these sessions."""
    view = table.view(0, sessions)
    for session_id, each in sessions.items():
        view.put(each, session_id)
    items = [(session_key(name), encode_session(each)) for name, each in view.changed.items()]
    table.write(0, view, items, offset, AT)
    table.take(RUN, view, None, 0.0)


def test_an_epoch_sees_its_own_changes_and_nobody_else_does_before_they_are_written(
    table: SessionTable,
) -> None:
    one, other = table.view(0, ["a"]), table.view(0, ["a"])
    assert one.get("a") is None
    changed = session("a")
    one.put(changed, "a")
    assert one.get("a") is changed
    assert other.get("a") is None
    assert table.view(0, ["a"]).get("a") is None
    table.write(0, one, [(session_key("a"), encode_session(changed))], 0, AT)
    table.take(RUN, one, None, 0.0)
    assert table.view(0, ["a"]).get("a") is changed
    assert table.stores[0].offset() == 0


def test_what_an_epoch_removes_is_gone_from_the_database_and_from_memory(table: SessionTable) -> None:
    write(table, 1, a=session("a"), b=session("b"))
    old = table._decoded[0].young
    for name in ("a", "b"):
        assert table.view(0, [name]).get(name) is not None
    view = StateView[Session]({})
    view.remove(session("a"), "a")
    table.write(0, view, [(session_key("a"), None)], 2, AT)
    assert old.keys() == {"b"}
    assert table.view(0, ["a", "b"]).get("a") is None
    assert table.view(0, ["a", "b"]).get("b") is not None
    assert table.stores[0].get(session_key("a")) is None
    assert table.stores[0].offset() == 2


def test_a_database_that_lacks_what_others_wrote_in_between_is_up_to_where_it_was(
    table: SessionTable, caplog: pytest.LogCaptureFixture
) -> None:
    write(table, 0, a=session("a"))
    write(table, 2, a=session("a", 1), b=session("b", 2))
    assert table.stores[0].offset() == 2
    write(table, 9, a=session("a", 3))
    write(table, 10, a=session("a", 4))
    assert table.stores[0].offset() == 2
    assert table.stores[0].get(session_key("a")) == encode_session(session("a", 4))
    (warning,) = (record.message for record in caplog.records)
    assert warning.startswith("Another worker has written to eddy-sessions-changelog[0] since offset 2.")


def test_the_marker_behind_each_transaction_does_not_keep_the_database_back(
    table: SessionTable, caplog: pytest.LogCaptureFixture
) -> None:
    table.transactional = True
    for last in (0, 2, 4):
        write(table, last, a=session("a"))
        assert table.stores[0].offset() == last
    table.forget()
    table.stores[0].write((), 5, AT)  # as a restore does, which comes to the marker
    write(table, 7, a=session("a"), b=session("b"))
    assert table.stores[0].offset() == 7
    assert caplog.records == []


@pytest.mark.parametrize("restored", [False, True])
def test_transactions_keep_nobody_out_who_has_none(
    table: SessionTable, restored: bool, caplog: pytest.LogCaptureFixture
) -> None:
    table.transactional = True
    write(table, 0, a=session("a"))
    if restored:
        table.forget()
        table.stores[0].write((), 1, AT)
    write(table, 3, a=session("a", 2))  # behind the marker, at 2, stands a record of another worker
    assert table.stores[0].offset() == (1 if restored else 0)
    assert [record.message[:22] for record in caplog.records] == ["Another worker has wri"]


def test_a_session_is_decoded_once_while_it_is_in_use(table: SessionTable) -> None:
    table.stores[0].write([(session_key("a"), encode_session(session("a", 3)))], 1, AT)
    first = table.view(0, ["a"]).get("a")
    assert first is not None
    assert table.view(0, ["a"]).get("a") is first


def test_partitions_have_sessions_of_their_own(table: SessionTable) -> None:
    write(table, 1, a=session("a"))
    assert table.view(1, ["a"]).get("a") is None


def test_however_many_sessions_there_are_only_so_many_are_kept_decoded(table: SessionTable) -> None:
    names = [f"s{number}" for number in range(50)]
    for offset, name in enumerate(names):
        write(table, offset, **{name: session(name)})
        state = table._decoded[0]
        # A generation is closed by the epoch after the one that filled it.
        assert len(state.young) + len(state.old) <= CACHED + 2
    for name in names:
        found = table.view(0, [name]).get(name)
        assert found is not None
        assert encode_session(found) == encode_session(session(name))


def test_a_session_in_use_outlives_the_generations(table: SessionTable) -> None:
    write(table, 0, kept=session("kept"))
    kept = table.view(0, ["kept"]).get("kept")
    for offset, name in enumerate(itertools.islice((f"s{n}" for n in itertools.count()), 20), 1):
        write(table, offset, **{name: session(name)})
        assert table.view(0, ["kept"]).get("kept") is kept


def test_one_epoch_with_more_sessions_than_the_cache_has_them_all(table: SessionTable) -> None:
    names = [f"s{number}" for number in range(CACHED * 5)]
    write(table, 1, **{name: session(name) for name in names})
    view = table.view(0, names)
    assert all(view.get(name) is not None for name in names)


def test_the_ledger_is_the_stored_one_and_the_one_written(table: SessionTable) -> None:
    stored = SettingsLedger((LedgerEntry(7, DEFAULTS),), 100)
    table.stores[3].write([(SETTINGS_KEY, stored.encode())], 1, AT)
    assert table.ledger(3) == stored
    assert table.ledger(4) == SettingsLedger()
    table.put(4, [(SETTINGS_KEY, stored.encode())], 0, AT)
    table.adopt(4, stored)
    assert table.ledger(4) is stored
    assert (table.stores[4].get(SETTINGS_KEY), table.stores[4].offset()) == (stored.encode(), 0)


def test_what_a_predecessor_may_have_put_out_is_asked_once_per_assignment(table: SessionTable) -> None:
    table.stores[0].write([(SETTINGS_KEY, SettingsLedger(reserved=100).encode())], 1, AT)
    assert table.unseen(0, 60) == 60
    assert table.unseen(0, 80) == 60
    assert table.unseen(1, None) == 0


async def test_a_rebalance_releases_the_databases_that_went_away_and_forgets_what_was_decoded(
    table: SessionTable,
) -> None:
    write(table, 1, a=session("a"))
    table.view(1, ["a"])
    other_worker = session("a", 9)
    gone, stays = (TP(table.changelog_topic_name, partition) for partition in (0, 1))
    await table.on_rebalance({stays}, {gone}, set())
    assert set(table.stores.opened()) == {1}
    table.stores[0].write([(session_key("a"), encode_session(other_worker))], 2, AT)
    found = table.view(0, ["a"]).get("a")
    assert found is not None
    assert encode_session(found) == encode_session(other_worker)


async def test_what_a_restore_writes_underneath_is_seen(table: SessionTable) -> None:
    write(table, 1, a=session("a"))
    restored = session("a", 4)
    table.stores[0].write([(session_key("a"), encode_session(restored))], 2, AT)
    await table.on_recovery_completed({TP(table.changelog_topic_name, 0)}, set())
    found = table.view(0, ["a"]).get("a")
    assert found is not None
    assert encode_session(found) == encode_session(restored)


def test_a_session_that_cannot_be_read_is_an_error_and_no_new_session(table: SessionTable) -> None:
    table.stores[0].write([(session_key("a"), b"[")], 1, AT)
    with pytest.raises(StateError):
        table.view(0, ["a", "b"])


def test_nobody_but_an_epoch_writes(table: SessionTable) -> None:
    with pytest.raises(TypeError, match="epochs only"):
        table.data._set(b"sa", b"")
    with pytest.raises(TypeError, match="epochs only"):
        table.data._del(b"sa")


def test_faust_sees_what_is_stored(table: SessionTable) -> None:
    write(table, 1, a=session("a"), b=session("b"))
    store = table.data
    assert store.persisted_offset(TP(table.changelog_topic_name, 0)) == 1
    assert sorted(store._iterkeys()) == [b"sa", b"sb"]
    assert store._size() == 2
    assert store._contains(b"sa")
    assert store._get(b"sb") == encode_session(session("b"))
    assert store._get(b"sc") is None

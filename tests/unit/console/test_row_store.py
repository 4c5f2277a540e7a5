"""A reading that keeps nothing: it forgets as one with an archive does, and begins with nothing."""

from streams.console.archive.row_store import NothingKept, restored
from streams.console.archive_flush import ArchiveFlush
from streams.console.read_model.tables import SESSION
from streams.console.topic_follower import FollowerSettings
from tests.unit.console.told import folded, published

LATER = 4_000_000_000_000


async def test_what_changed_is_passed_over_so_that_silent_sessions_are_forgotten() -> None:
    model = folded(published())
    sessions = len(model.cases)
    keeping = ArchiveFlush(model, NothingKept(), list, FollowerSettings(), lambda: LATER)
    assert model.forget(LATER) == 0  # all of it waits to be kept
    await keeping.flush()
    await keeping.drop([SESSION], ["session-alerts"])
    assert 0 < model.forget(LATER) <= sessions


async def test_nothing_comes_back() -> None:
    nothing = NothingKept()
    assert [row for rows in restored(nothing, LATER, 15, 100) for row in rows] == []
    assert await nothing.select(SESSION) == []
    nothing.rebuild(ValueError())

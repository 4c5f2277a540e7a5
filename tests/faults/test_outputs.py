"""The watch tells what came too late to count."""

from types import SimpleNamespace

import pytest

from streams.core.domain.session import Session
from streams.worker.state.changelog import encode_session, session_key, tombstone_headers_of
from tests.faults.outputs import OutputWatch


def record(offset: int, *, gone: bool = False) -> SimpleNamespace:
    """Return a changelog record of a session up to that offset."""
    session = Session(partition=0, offset=offset)
    value, headers = (None, tombstone_headers_of(session)) if gone else (encode_session(session), ())
    return SimpleNamespace(partition=0, key=session_key("s"), value=value, headers=headers)


@pytest.mark.parametrize(
    ("records", "outdated", "there"),
    [
        ([record(7), record(9)], 0, True),
        ([record(9), record(7)], 1, True),
        ([record(9), record(9)], 0, True),
        ([record(7), record(7, gone=True)], 0, False),
        ([record(7), record(7, gone=True), record(7, gone=True)], 0, False),
        ([record(7), record(7, gone=True), record(9)], 0, True),
        ([record(7), record(9), record(7, gone=True)], 1, False),
        ([record(7), record(7, gone=True), record(7)], 1, True),
    ],
)
async def test_it_knows_what_is_outdated_and_who_is_still_there(
    records: list[SimpleNamespace], outdated: int, *, there: bool
) -> None:
    watch = OutputWatch("nowhere", 1, "changelog")
    for each in records:
        watch._apply(each)
    assert watch.outdated == outdated
    watch.seen_ms[0, 4] = 1
    assert await watch.emptied({0: 5}, 0.1) == (["ss"] if there else [])

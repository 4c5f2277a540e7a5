import orjson
import pytest

from streams.core.domain.level import NodeState
from streams.core.domain.session import STATE_VERSION, Session
from tests.stream import Stream, decision_log, repeated


def session() -> Session:
    stream = Stream()
    stream.run(repeated(5))
    return stream.sessions["s1"]


def test_the_first_item_of_a_snapshot_is_the_format_version() -> None:
    assert session().snapshot()[0] == STATE_VERSION == 2


def test_a_snapshot_reads_back_to_the_same_snapshot() -> None:
    stored = orjson.dumps(session().snapshot())
    assert orjson.dumps(Session.restore(orjson.loads(stored)).snapshot()) == stored


def test_a_restored_session_has_the_facts_of_the_session() -> None:
    before = session()
    after = Session.restore(orjson.loads(orjson.dumps(before.snapshot())))
    assert after._replace(states={}) == before._replace(states={})
    assert after.node is NodeState.ALERT_ENTROPY
    assert after.step == 5
    assert (after.event_id, after.agent_id, after.timestamp) == ("s1-e4", "agent-1", 1_700_000_004_000)


def test_a_stub_is_its_position() -> None:
    stream = Stream()
    stream.scored(decision_log(terminal=True), partition=3, offset=7)
    stub = stream.sessions["s1"]
    assert stub.ended
    assert stub.snapshot() == [2, 3, 7]
    assert Session.restore([2, 3, 7]) == Session.restore([1, 3, 7]) == stub


def test_a_shadow_is_stored_behind_the_session_and_read_back() -> None:
    live, stub = session(), Session(partition=0, offset=7)
    for whole in (live._replace(shadow=live._replace(step=3)), stub._replace(shadow=live), live, stub):
        stored = orjson.dumps(whole.snapshot())
        restored = Session.restore(orjson.loads(stored))
        assert orjson.dumps(restored.snapshot()) == stored
        assert (restored.shadow is None) == (whole.shadow is None)
        alone = whole._replace(shadow=None).snapshot()
        assert whole.snapshot()[: len(alone)] == alone


def test_a_looping_session_is_stored_in_less_than_two_kilobytes() -> None:
    assert len(orjson.dumps(session().snapshot())) < 2000


@pytest.mark.parametrize("version", [0, 3, "1", None])
def test_another_format_version_is_refused_by_name(version: object) -> None:
    with pytest.raises(ValueError, match=f"format version {version}, this program reads versions 1 and 2"):
        Session.restore([version, 0, 7])


@pytest.mark.parametrize(
    "snapshot", [[], [2], [2, 0], [2, "0", 7], [2, 0, 7, "active"], [2, 0, 7, 8, 9], [1, "0", 7]]
)
def test_what_is_no_snapshot_is_refused(snapshot: list[object]) -> None:
    with pytest.raises(ValueError, match="not the snapshot of a session"):
        Session.restore(snapshot)


@pytest.mark.parametrize(
    ("partition", "offset", "applied"),
    [(1, 7, True), (1, 6, True), (1, 8, False), (0, 7, False), (2, 1, False)],
)
def test_what_was_applied_is_told_by_the_position(partition: int, offset: int, applied: bool) -> None:
    assert Session(partition=1, offset=7).has_applied(partition, offset) is applied


def test_long_ids_leave_the_session_small() -> None:
    stream = Stream()
    stream.scored(decision_log(session="s1", agent="a" * 50_000) | {"event_id": "e" * 50_000})
    assert len(orjson.dumps(stream.sessions["s1"].snapshot())) < 3050

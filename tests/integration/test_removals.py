"""The checker tells removals that the clock allows from those it does not, and what follows from each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from schemas.codec import Codec
from streams.core.detectors.settings import DEFAULTS
from streams.core.domain.record import NO_HEADERS, Headers, Outgoing
from streams.core.domain.run import Run
from streams.core.domain.session import Session
from streams.core.domain.topic import Topic
from streams.core.pipeline import expire
from streams.core.policy.state_limits import kept_until
from streams.kafka.client import Stored
from streams.worker.batch import Job
from streams.worker.run_result import RunResult
from streams.worker.settings_ledger import LedgerEntry
from streams.worker.state.changelog import encode_session, session_key, tombstone_headers_of
from tests.integration.load import as_json, decision
from tests.integration.reference_fold import OUTPUT_TOPICS, Expected, Verdict, fold, judge, value_of
from tests.integration.removals import Lives, Removals, told_ends

JOB = Job(Codec.bundled(), group="eddy", version="1")
SETTINGS = replace(DEFAULTS, version=1, session_ttl_ms=1_000, state_grace_ms=500)
KEEPS_MS, REST_MS = 1_500, 2_000
BEGAN_MS = 1_700_000_000_000
#: When the sessions of `World.talk` have said their last, and the first millisecond they may go in.
LAST_MS = BEGAN_MS + 4
DUE_MS = LAST_MS + KEEPS_MS + 1
#: How long a record is on its way until a reader has seen it.
ON_THE_WAY_MS = 3


class Sessions(dict[str, Session]):
    """Those of the one partition."""

    def put(self, session: Session, session_id: str) -> None:
        self[session_id] = session


class World:
    """What a worker reads and writes on one partition, done without one: as it should be, until harmed."""

    def __init__(self) -> None:
        self.inputs: list[Stored] = []
        self.outputs: dict[str, list[Stored]] = {topic: [] for topic in OUTPUT_TOPICS}
        self.contributions: list[Outgoing] = []
        self.changelog: list[Stored] = []
        self.seen: dict[tuple[int, int], int] = {}
        self.sessions = Sessions()
        self.written_ms: dict[str, int] = {}

    def record(self, name: str, at_ms: int, *, timestamp: int | None = None, ends: bool = False) -> None:
        """Let a session that repeats itself say something, read and written in that millisecond."""
        offset = len(self.inputs)
        value = decision(name, offset, intent="again", tool_input="{}")
        value["meta"]["timestamp"] = at_ms if timestamp is None else timestamp
        if ends:
            value["control"] = {"is_terminal": True}
        self.inputs.append(Stored(0, offset, at_ms, name.encode(), as_json(value), ()))
        self.seen[0, offset] = at_ms + ON_THE_WAY_MS
        folded = RunResult()
        JOB.fold(Run(Topic.DECISION_LOGS, 0, self.inputs[-1:]), self.sessions, SETTINGS, folded)
        self._tell(folded)
        self.write(name, at_ms)

    def talk(self, name: str, *, ends: bool = False) -> None:
        """Let a session say the same five times, so that it loops."""
        for number in range(5):
            self.record(name, BEGAN_MS + number, ends=ends and number == 4)

    def write(self, name: str, at_ms: int) -> None:
        """Write the state of a session."""
        self.written_ms[name] = at_ms
        self._log(name, encode_session(self.sessions[name]), at_ms)

    def end(self, name: str) -> None:
        """Tell the end of a session."""
        session = self.sessions[name]
        folded = RunResult()
        until_ms = kept_until(session, self.written_ms[name], SETTINGS)
        assert until_ms is not None
        JOB.expired(name, expire(name, session, SETTINGS), until_ms, folded)
        self._tell(folded)

    def bury(self, name: str, at_ms: int) -> None:
        """Remove a session without a word."""
        self._log(name, None, at_ms, tombstone_headers_of(self.sessions.pop(name)))

    def remove(self, name: str, at_ms: int = DUE_MS) -> None:
        """Remove a session as housekeeping does."""
        if not self.sessions[name].ended:
            self.end(name)
        self.bury(name, at_ms)

    def _log(self, name: str, value: bytes | None, at_ms: int, headers: Headers = NO_HEADERS) -> None:
        self.changelog.append(Stored(0, len(self.changelog), at_ms, session_key(name), value, tuple(headers)))

    def _tell(self, folded: RunResult) -> None:
        self.contributions += folded.outputs.pop(Topic.REPARTITION, [])
        for topic, records in folded.outputs.items():
            self.outputs[topic] += [
                Stored(0, len(self.outputs[topic]), each.timestamp, each.key, each.value, tuple(each.headers))
                for each in records
            ]

    def judged(self, *, fenced: bool = True) -> tuple[Verdict, Expected]:
        """Return what the checker says."""
        events = [
            value_of(stored)
            for topic in (Topic.SESSION_ALERTS, Topic.TOPOLOGY)
            for stored in self.outputs[topic]
        ]
        removals = Removals(Lives(REST_MS, self.seen, fenced), self.changelog, told_ends(events))
        expected = fold(JOB, self.inputs, {0: (LedgerEntry(0, SETTINGS),)}, removals=removals)
        verdict = judge(expected, self.outputs, self.changelog)
        verdict.add(removals)
        return verdict, expected

    def problems(self, *, fenced: bool = True) -> set[str]:
        """Return what the checker blames."""
        return set(self.judged(fenced=fenced)[0].wrong)


@pytest.fixture
def world() -> World:
    """Return one in which a session loops, is removed, and comes back as if it had not been silent."""
    world = World()
    world.talk("looper")
    world.remove("looper")
    world.record("looper", DUE_MS + 10, timestamp=LAST_MS + 1)
    return world


@pytest.mark.parametrize("fenced", [False, True])
def test_it_finds_nothing_where_sessions_go_when_they_may(world: World, *, fenced: bool) -> None:
    world.talk("ender", ends=True)
    world.remove("ender", LAST_MS + REST_MS)
    verdict, expected = world.judged(fenced=fenced)
    assert verdict.problems == []
    assert verdict.removed == {"expired": 1, "came back": 1, "ended": 1}
    assert verdict.removal_delays_ms == [1]
    assert [name for name in expected.outputs[Topic.SESSION_ALERTS] if name.endswith("/expired")] == [
        "looper/0/4/loop_episode/recovered/expired"
    ]
    assert sorted(expected.contributions) == sorted(world.contributions)


def test_a_session_that_comes_back_in_time_goes_on_and_one_that_was_not_removed_too() -> None:
    world = World()
    for number, late in enumerate((0, 1, 10_000)):
        world.talk(f"s{number}")
        world.record(f"s{number}", DUE_MS + late, timestamp=LAST_MS + 1)
    verdict, _ = world.judged()
    assert (verdict.problems, verdict.removed) == ([], {})


def test_where_a_record_was_seen_at_the_end_either_outcome_is_right() -> None:
    """It may have come a millisecond before or after the worker asked where the partition ends."""
    for removed in (False, True):
        world = World()
        world.talk("s")
        if removed:
            world.remove("s")
        world.record("s", DUE_MS - ON_THE_WAY_MS, timestamp=LAST_MS + 1)
        assert world.problems() == set()


def test_a_record_that_was_seen_before_the_end_must_find_its_session() -> None:
    world = World()
    world.talk("s")
    world.remove("s", DUE_MS + 5)
    world.record("s", DUE_MS - ON_THE_WAY_MS - 1, timestamp=LAST_MS + 1)
    assert world.problems() == {"removed while a record waited"}


def test_a_record_that_was_refused_keeps_nobody() -> None:
    world = World()
    world.talk("s")
    world.remove("s", DUE_MS + 5)
    world.inputs.append(Stored(0, len(world.inputs), LAST_MS + 9, b"s", b"damaged", ()))
    world.seen[0, world.inputs[-1].offset] = LAST_MS + 9
    folded = RunResult()
    JOB.fold(Run(Topic.DECISION_LOGS, 0, world.inputs[-1:]), world.sessions, SETTINGS, folded)
    world._tell(folded)
    world.record("s", DUE_MS + 10)
    assert world.problems() == set()


@pytest.mark.parametrize("early_ms", [1, 1_000])
def test_a_session_must_not_go_before_its_life_and_the_grace_are_over(early_ms: int) -> None:
    world = World()
    world.talk("s")
    world.remove("s", DUE_MS - early_ms)
    assert world.problems() == {"removed too early"}


def test_a_session_ahead_of_the_clock_stays_so_much_longer() -> None:
    for at_ms, problems in ((DUE_MS + 699, {"removed too early"}), (DUE_MS + 700, set[str]())):
        world = World()
        world.record("s", LAST_MS, timestamp=LAST_MS + 700)
        world.remove("s", at_ms)
        assert world.problems() == problems


def test_a_stub_must_not_go_before_its_rest() -> None:
    world = World()
    world.talk("s", ends=True)
    world.remove("s", LAST_MS + REST_MS - 1)
    assert world.problems() == {"stubs removed too early"}


def test_a_session_that_goes_on_from_a_removed_state_is_found() -> None:
    world = World()
    world.talk("s")
    before = world.sessions["s"]
    world.remove("s")
    world.sessions["s"] = before
    world.record("s", DUE_MS + 10, timestamp=LAST_MS + 1)
    assert f"{Topic.ENRICHED}: other bytes" in world.problems()


def test_a_session_that_begins_anew_without_a_tombstone_is_found() -> None:
    world = World()
    world.talk("s")
    del world.sessions["s"]
    world.record("s", DUE_MS + 10, timestamp=LAST_MS + 1)
    assert f"{Topic.ENRICHED}: other bytes" in world.problems()


def ends(world: World) -> list[int]:
    """Return where the event about the end of the episode stands."""
    alerts = world.outputs[Topic.SESSION_ALERTS]
    return [number for number, stored in enumerate(alerts) if value_of(stored)["id"].endswith("/expired")]


@pytest.mark.parametrize(
    ("harm", "problem"),
    [
        (lambda alerts, at: alerts.pop(at), "session-alerts: lost"),
        (
            lambda alerts, at: alerts.__setitem__(at, alerts[at]._replace(timestamp=DUE_MS)),
            "session-alerts: other bytes",
        ),
        (
            lambda alerts, at: alerts.append(alerts[at]._replace(timestamp=1)),
            "session-alerts: came twice, differing",
        ),
        (lambda alerts, at: alerts.insert(0, alerts.pop(at)), "session-alerts: an end out of order"),
    ],
    ids=["lost", "other time", "twice, differing", "order"],
)
def test_an_end_that_is_not_told_as_it_should_be_is_found(
    world: World, harm: Callable[[list[Stored], int], object], problem: str
) -> None:
    [at] = ends(world)
    harm(world.outputs[Topic.SESSION_ALERTS], at)
    assert world.problems() == {problem}


def test_an_end_that_is_told_twice_is_counted(world: World) -> None:
    world.outputs[Topic.SESSION_ALERTS].append(world.outputs[Topic.SESSION_ALERTS][ends(world)[0]])
    verdict, _ = world.judged()
    assert (verdict.problems, verdict.repeated[Topic.SESSION_ALERTS]) == ([], 1)


def test_the_end_of_a_session_that_goes_on_may_be_told_only_where_nobody_is_fenced() -> None:
    """A worker dies before its tombstone is written, and a record comes before the next one removes it."""
    world = World()
    world.talk("s")
    world.end("s")
    world.record("s", DUE_MS + 10, timestamp=LAST_MS + 1)
    verdict, expected = world.judged(fenced=False)
    assert (verdict.problems, verdict.removed) == ([], {"only told": 1})
    assert sorted(expected.contributions) == sorted(world.contributions)
    assert world.problems(fenced=True) == {
        f"{Topic.SESSION_ALERTS}: from nowhere",
        f"{Topic.TOPOLOGY}: from nowhere",
    }


def test_the_end_of_a_session_that_goes_on_must_not_be_told_while_a_record_waits() -> None:
    world = World()
    world.talk("s")
    world.end("s")
    world.record("s", LAST_MS + 10)
    assert world.problems(fenced=False) == {"removed while a record waited"}


def test_a_tombstone_that_comes_too_late_changes_nothing_and_must_not_be_where_workers_are_fenced() -> None:
    world = World()
    world.talk("s")
    grave = tombstone_headers_of(world.sessions["s"])
    world.record("s", LAST_MS + 10)
    world._log("s", None, DUE_MS, grave)
    world.write("s", DUE_MS + 1)
    assert world.problems(fenced=False) == set()
    assert world.problems(fenced=True) == {"buried what had gone on"}


@pytest.mark.parametrize("fenced", [False, True])
def test_state_that_is_written_behind_its_tombstone_is_found(*, fenced: bool) -> None:
    world = World()
    world.talk("s")
    before = world.sessions["s"]
    world.remove("s")
    world.sessions["s"] = before
    world.write("s", DUE_MS + 1)
    assert world.problems(fenced=fenced) == {"state stands behind its tombstone", "state of nobody"}


def test_a_second_tombstone_must_not_be_where_workers_are_fenced(world: World) -> None:
    [first] = [stored for stored in world.changelog if stored.value is None]
    world.changelog.insert(first.offset, first)
    assert world.problems(fenced=False) == set()
    assert world.problems(fenced=True) == {"buried twice"}


def test_a_tombstone_of_a_state_that_never_was_is_found() -> None:
    world = World()
    world.talk("s")
    world._log("s", None, DUE_MS, tombstone_headers_of(Session(0, 99)))
    assert "buried a state that was never written" in world.problems()
    world = World()
    world.talk("s")
    # The position of a record of another session.
    world._log("t", encode_session(Session(0, 2)), DUE_MS)
    world._log("t", None, DUE_MS, tombstone_headers_of(Session(0, 2)))
    assert world.problems() == {"removed with a state that never was"}


def test_a_tombstone_that_says_nothing_is_found(world: World) -> None:
    world._log("looper", None, DUE_MS + 20)
    assert "changelog records of no place" in world.problems()


def test_what_removals_contribute_counts_in_the_order_of_the_records() -> None:
    world = World()
    world.talk("first")
    world.talk("second")
    world.remove("second")
    world.remove("first")
    _, expected = world.judged()
    in_order = [record for record in expected.contributions if record.timestamp > LAST_MS]
    assert in_order
    assert in_order != [record for record in world.contributions if record.timestamp > LAST_MS]
    assert sorted(in_order) == sorted(each for each in world.contributions if each.timestamp > LAST_MS)


def test_nothing_is_removed_where_sessions_live_for_ever() -> None:
    world = World()
    world.talk("s")
    world.bury("s", DUE_MS)
    removals = Removals(Lives(REST_MS, world.seen, fenced=True), world.changelog)
    fold(JOB, world.inputs, {0: (LedgerEntry(0, replace(SETTINGS, session_ttl_ms=0)),)}, removals=removals)
    assert "removed, though sessions live for ever" in removals.problems

"""What an operator reads while brokers do not answer, and when they do again."""

import logging
from collections.abc import Mapping

import pytest

from streams.worker.health.outage import BrokerAddress, BrokerAnswer, BrokerRefusal, Moment, Outage

ADDRESSES = {node: BrokerAddress(f"kafka-{node}", 9092) for node in (1, 2, 3)}
#: 2026-03-01T20:14:00Z.
START = 1_772_396_040
LOOK_S = 2.0
REFUSED = BrokerRefusal("connection refused")


class Scene:
    """Brokers that answer or not, looked at every two seconds."""

    def __init__(self, servers: int = 3) -> None:
        self.now = 0.0
        self.attempts = 0
        self.outage = Outage([*ADDRESSES.values()][:servers], self.moment, lambda: self.attempts)
        self.lines: list[tuple[int, str]] = []

    @property
    def moment(self) -> Moment:
        return Moment.of(self.now, START + self.now)

    def look(self, *answering: int, listed: Mapping[int, BrokerAddress] = ADDRESSES, times: int = 1) -> None:
        """Look; those nodes answer, and name the brokers that they list."""
        for _ in range(times):
            self.now += LOOK_S
            found = {
                node: BrokerAnswer(listed) if abs(node) in answering else REFUSED
                for node in self.outage.addresses
            }
            self.lines += self.outage.note(found, self.moment)

    def said(self) -> str:
        """Return the only line since the last call."""
        [(_, line)] = self.lines
        self.lines.clear()
        return line


@pytest.fixture
def scene() -> Scene:
    """Return a cluster of three of which every broker has answered."""
    scene = Scene()
    scene.look(1, 2, 3)
    return scene


def test_brokers_that_answer_are_worth_no_line(scene: Scene) -> None:
    scene.look(1, 2, 3, times=100)
    assert scene.lines == []
    assert (scene.outage.answering, scene.outage.known) == (3, 3)
    assert scene.outage.sentence(scene.now) is None


def test_one_answer_that_is_missing_is_no_outage(scene: Scene) -> None:
    for _ in range(10):
        scene.look()
        scene.look(1, 2, 3)
    assert scene.lines == []


def test_an_outage_is_one_line_that_says_since_when_why_and_what_to_do(scene: Scene) -> None:
    scene.look(times=10)
    assert [level for level, _ in scene.lines] == [logging.ERROR]
    assert scene.said() == (
        "No broker of 3 answers since 2026-03-01T20:14:02Z: kafka-1:9092 (connection refused); kafka-2:9092 "
        "(connection refused); kafka-3:9092 (connection refused). Nothing is acknowledged meanwhile, and the "
        "worker continues by itself once one answers. Check the brokers and the network; `eddy doctor` says "
        "more."
    )
    assert scene.outage.sentence(scene.now) == "No broker of 3 answers since 2026-03-01T20:14:02Z (20 s)"
    assert scene.outage.answering == 0


def test_a_long_outage_is_reported_again_less_and_less_often(scene: Scene) -> None:
    scene.look(times=2)
    scene.lines.clear()
    scene.attempts = 1772
    scene.look(times=148)
    assert [line for _, line in scene.lines] == [
        "No broker of 3 answers since 2026-03-01T20:14:02Z (1 min 0 s), 1,772 failed attempts.",
        "No broker of 3 answers since 2026-03-01T20:14:02Z (5 min 0 s), 1,772 failed attempts.",
    ]
    scene.lines.clear()
    scene.look(times=12 * 1800)
    assert 40 <= len(scene.lines) <= 60


def test_the_end_of_an_outage_says_how_long_it_was(scene: Scene) -> None:
    scene.attempts = 3
    scene.look(1, 2, 3)
    scene.look(times=155)
    scene.lines.clear()
    scene.attempts = 1775
    scene.look(1, 2, 3)
    assert scene.said() == "All 3 brokers answer again after 5 min 12 s, 1,772 failed attempts."
    scene.look(1, 2, 3, times=10)
    assert scene.lines == []


def test_a_part_of_the_brokers_is_told_from_all_of_them(scene: Scene) -> None:
    scene.look(1, 3, times=10)
    assert [level for level, _ in scene.lines] == [logging.WARNING]
    assert scene.said().startswith(
        "Not every broker answers (2 of 3) since 2026-03-01T20:14:02Z: kafka-2:9092 ("
    )
    assert scene.outage.sentence(scene.now) is None
    assert scene.outage.answering == 2
    scene.look(times=2)
    assert scene.said().startswith("No broker of 3 answers since 2026-03-01T20:14:22Z: kafka-1:9092 (")
    scene.look(1)
    assert scene.said().startswith(
        "Not every broker answers (1 of 3) since 2026-03-01T20:14:02Z: kafka-2:9092 ("
    )
    scene.look(1, 2, 3)
    assert scene.said() == "All 3 brokers answer again after 28 s."


def test_a_dead_broker_that_the_others_do_not_list_any_more_is_still_missed(scene: Scene) -> None:
    left = {node: ADDRESSES[node] for node in (1, 2)}
    scene.look(1, 2, listed=left, times=20)
    assert scene.said().startswith("Not every broker answers")
    scene.look(1, 2, 3)
    assert scene.said().startswith("All 3 brokers answer again")


def test_a_broker_that_was_removed_is_forgotten_after_an_hour(scene: Scene) -> None:
    left = {node: ADDRESSES[node] for node in (1, 2)}
    scene.look(1, 2, listed=left, times=1801)
    assert scene.outage.known == 2


def test_the_first_answer_names_the_brokers_of_the_cluster() -> None:
    scene = Scene(servers=1)
    assert list(scene.outage.addresses.values()) == [ADDRESSES[1]]
    scene.look(1)
    assert scene.outage.addresses == ADDRESSES


def test_a_broker_at_a_new_address_is_asked_there(scene: Scene) -> None:
    moved = ADDRESSES | {3: BrokerAddress("kafka-9", 9092)}
    scene.look(1, 2, listed=moved, times=3)
    assert scene.outage.addresses == moved
    scene.look(1, 2, 3, listed=moved)
    assert scene.outage.answering == 3


def test_one_broker_is_spoken_of_as_one() -> None:
    scene = Scene(servers=1)
    alone = {1: ADDRESSES[1]}
    scene.look(1, listed=alone)
    scene.look(times=2)
    assert scene.said().startswith("No broker answers since 2026-03-01T20:14:02Z: kafka-1:9092 (")
    scene.look(1, listed=alone)
    assert scene.said() == "The broker answers again after 6 s."

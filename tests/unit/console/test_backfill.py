"""How far was read: kept as rows, and only for the topics that there still are."""

from streams.console.backfill import ReadMarks
from streams.core.domain.topic import Topic

NAMES = {Topic.ENRICHED: "a.decision-logs-enriched", Topic.TOPOLOGY: "a.topology"}
TOPICS = {name: topic for topic, name in NAMES.items()}


def marks() -> ReadMarks:
    made = ReadMarks()
    made.begin(Topic.ENRICHED, "id-1", {0: 10, 1: 0})
    made.begin(Topic.TOPOLOGY, "", {0: 0})
    made.advance({(Topic.ENRICHED, 0): 20})
    made.went_back({(Topic.ENRICHED, 0): 3})
    return made


def test_marks_come_back_from_rows() -> None:
    assert ReadMarks.of(marks().rows(NAMES), TOPICS).spans == marks().spans


def test_rows_of_topics_that_are_not_read_are_left_out() -> None:
    read = ReadMarks.of(marks().rows(NAMES), {"a.topology": Topic.TOPOLOGY})
    assert {topic for topic, _ in read.spans} == {Topic.TOPOLOGY}


def test_only_another_id_tells_that_a_topic_was_created_again() -> None:
    assert marks().created_again({Topic.ENRICHED: "id-1", Topic.TOPOLOGY: "id-9"}) == set()
    assert marks().created_again({Topic.ENRICHED: ""}) == set()
    assert marks().created_again({Topic.ENRICHED: "id-2"}) == {Topic.ENRICHED}


def test_a_position_that_went_back_takes_the_beginning_along() -> None:
    made = marks()
    made.advance({(Topic.ENRICHED, 0): 1})
    assert made.spans[Topic.ENRICHED, 0] == (1, 1)


def test_a_topic_is_not_at_its_end_before_the_brokers_of_each_partition_have_told_it() -> None:
    """A guard would take a step before it knew of a command on the partition that is missing."""
    made = ReadMarks()
    made.begin(Topic.SESSION_COMMANDS, "id-1", {0: 0, 1: 0})
    ends = {(Topic.SESSION_COMMANDS, 0): 0}
    assert not made.are_at(ends, Topic.SESSION_COMMANDS)
    ends[Topic.SESSION_COMMANDS, 1] = 3
    assert not made.are_at(ends, Topic.SESSION_COMMANDS)
    made.advance({(Topic.SESSION_COMMANDS, 1): 3})
    assert made.are_at(ends, Topic.SESSION_COMMANDS)
    assert not made.are_at(ends, Topic.SESSION_COMMAND_ACKS)

"""The checker the other tests rely on finds what is lost, different, too much, out of order or wrong."""

import itertools
from collections.abc import Callable
from typing import Any

import pytest

from schemas.codec import Codec
from streams.core.detectors.settings import DEFAULTS
from streams.core.domain.record import Outgoing
from streams.core.domain.run import Run
from streams.core.domain.topic import Topic
from streams.core.settings_document import ShadowDocument, resolve
from streams.kafka.client import Stored
from streams.worker.aggregation import Aggregation, encode_aggregate, parts
from streams.worker.batch import Job
from streams.worker.effects import key_partition
from streams.worker.settings_ledger import LedgerEntry, SettingsLedger, ShadowEntry
from streams.worker.state.changelog import SETTINGS_KEY
from tests.integration.load import load, ping_pong
from tests.integration.reference_aggregates import judge_aggregates
from tests.integration.reference_fold import (
    OUTPUT_TOPICS,
    Expected,
    Verdict,
    fold,
    judge,
    settings_history,
)

Topics = dict[str, list[Stored]]

PARTITIONS = 2
#: Enough for two agents to be told a WARNING and a LOOP.
ROUNDS = 12
JOB = Job(Codec.bundled(), group="eddy", version="1")
#: With settings tried out there are outputs of every topic.
TRIED = ShadowEntry(0, 0, ShadowDocument(1, 1, resolve({"entropy_window_size": 2}, DEFAULTS, 1)[0]))


def stored(partition: int, offset: int, record: Outgoing) -> Stored:
    return Stored(partition, offset, record.timestamp, record.key, record.value, tuple(record.headers))


@pytest.fixture(scope="module")
def inputs() -> list[Stored]:
    offsets = [itertools.count() for _ in range(PARTITIONS)]
    return [
        stored(partition, next(offsets[partition]), record)
        for partition, record in [
            *itertools.islice(load(PARTITIONS), 600 - 2 * ROUNDS),
            *ping_pong(PARTITIONS, range(ROUNDS)),
        ]
    ]


@pytest.fixture(scope="module")
def expected(inputs: list[Stored]) -> Expected:
    return fold(JOB, inputs, {}, dict.fromkeys(range(PARTITIONS), (TRIED,)))


@pytest.fixture
def outputs(expected: Expected) -> Topics:
    return {
        topic: [
            Stored(partition, offset, timestamp, key, value, headers)
            for offset, (partition, key, value, timestamp, headers) in enumerate(wanted.values())
        ]
        for topic, wanted in expected.outputs.items()
    }


@pytest.fixture
def changelog(expected: Expected) -> list[Stored]:
    return [
        Stored(partition, offset, 0, key, value, ())
        for offset, ((partition, key), value) in enumerate(expected.state.items())
    ]


def test_it_has_outputs_of_every_topic_to_judge(expected: Expected) -> None:
    assert min(len(expected.outputs[topic]) for topic in OUTPUT_TOPICS) > 0
    orders = [name for name in expected.outputs[Topic.TOPOLOGY] if name.endswith("/forgotten")]
    accounted = len(expected.outputs[Topic.ENRICHED]) + len(expected.outputs[Topic.DEAD_LETTERS])
    assert orders
    assert accounted + len(orders) == 600


def test_it_finds_nothing_where_nothing_is_wrong(
    expected: Expected, outputs: Topics, changelog: list[Stored]
) -> None:
    assert judge(expected, outputs, changelog).problems == []


def test_the_same_output_again_is_counted_and_no_problem(
    expected: Expected, outputs: Topics, changelog: list[Stored]
) -> None:
    outputs[Topic.ENRICHED] += outputs[Topic.ENRICHED][-3:]
    verdict = judge(expected, outputs, changelog)
    assert (verdict.problems, verdict.repeated[Topic.ENRICHED]) == ([], 3)


@pytest.mark.parametrize("topic", OUTPUT_TOPICS)
@pytest.mark.parametrize(
    ("harm", "problem"),
    [
        (lambda found: found.pop(len(found) // 2), "lost"),
        (lambda found: found.append(found[0]._replace(timestamp=1)), "came twice, differing"),
        (
            lambda found: found.append(found[0]._replace(headers=(*found[0].headers, ("a", b"")))),
            "came twice, differing",
        ),
        (lambda found: found.append(found[0]._replace(partition=1 - found[0].partition)), "came twice"),
        (lambda found: found.__setitem__(0, found[0]._replace(key=b"else")), "other bytes"),
        (
            lambda found: found.__setitem__(0, found[0]._replace(headers=(("a", b""), *found[0].headers))),
            "other",
        ),
        (lambda found: found.reverse(), "out of order"),
    ],
    ids=["lost", "time", "headers", "partition", "key", "one more header", "order"],
)
def test_it_finds_in_a_topic(
    expected: Expected,
    outputs: Topics,
    changelog: list[Stored],
    topic: Topic,
    harm: Callable[[list[Stored]], object],
    problem: str,
) -> None:
    harm(outputs[topic])
    found, *_ = judge(expected, outputs, changelog).problems
    assert found.startswith((f"{topic}: {problem}", f"{topic}[0]: {problem}", f"{topic}[1]: {problem}"))


def test_it_finds_outputs_from_nowhere(
    expected: Expected, outputs: Topics, changelog: list[Stored], inputs: list[Stored]
) -> None:
    [(gone, _)] = list(expected.outputs[Topic.ENRICHED].items())[-1:]
    fewer = {**expected.outputs, Topic.ENRICHED: dict(expected.outputs[Topic.ENRICHED])}
    del fewer[Topic.ENRICHED][gone]
    [found] = judge(Expected(fewer, expected.state), outputs, changelog).problems
    assert found.startswith(f"{Topic.ENRICHED}: from nowhere: 1")


@pytest.mark.parametrize(
    ("harm", "problem"),
    [
        (lambda found: found.pop(), "state is missing"),
        (lambda found: found.append(found[-1]._replace(value=b"[]")), "state is wrong"),
        (lambda found: found.append(found[-1]._replace(value=None)), "state is wrong"),
        (lambda found: found.append(found[-1]._replace(key=b"snobody")), "state of nobody"),
    ],
    ids=["missing", "wrong", "deleted", "nobody"],
)
def test_it_finds_in_the_state(
    expected: Expected,
    outputs: Topics,
    changelog: list[Stored],
    harm: Callable[[list[Stored]], object],
    problem: str,
) -> None:
    harm(changelog)
    [found] = judge(expected, outputs, changelog).problems
    assert found.startswith(f"{problem}: 1")


Found = dict[str, list[Stored]]
BETWEEN = 3
AGGREGATION = Aggregation(Codec.bundled(), group="g")


class Tally(dict[str, Any]):
    """Aggregates as the aggregation wants them."""

    def put(self, value: Any, name: str) -> None:
        self[name] = value


@pytest.fixture
def found(expected: Expected) -> Found:
    """Return what stands in the topics of the aggregates when all is right."""
    offsets = itertools.count()
    sent = [
        Stored(key_partition(each.key, BETWEEN), next(offsets), each.timestamp, each.key, each.value, ())
        for each in expected.contributions
    ]
    found: Found = {"sent": sent, "changelog": [], "alerts": []}
    for partition in range(BETWEEN):
        tally = Tally()
        arrived = [each for each in sent if each.partition == partition]
        tallied = AGGREGATION.fold(parts(Run("t", partition, arrived)), tally)
        found["changelog"] += [
            Stored(partition, 0, 0, name.encode(), encode_aggregate(value), ())
            for name, value in tally.items()
        ]
        for topic, records in tallied.outputs.items():
            found.setdefault(topic, []).extend(
                Stored(key_partition(each.key, 2), 0, 0, each.key, each.value, ()) for each in records
            )
        for of_session, alerts in tallied.alerts.items():
            found["alerts"] += [stored(of_session, 0, each) for each in alerts]
    return found


def problems(expected: Expected, found: Found) -> list[str]:
    verdict = Verdict()
    judge_aggregates(
        verdict,
        expected,
        AGGREGATION,
        repartition=found["sent"],
        changelog=found["changelog"],
        published={topic: found[topic] for topic in (Topic.AGENT_HEALTH, Topic.TASK_PROFILES)},
        alerts=found["alerts"],
        partitions={Topic.REPARTITION: BETWEEN, Topic.AGENT_HEALTH: 2, Topic.TASK_PROFILES: 2},
    )
    return verdict.problems


def test_it_finds_nothing_in_the_aggregates_where_nothing_is_wrong(expected: Expected, found: Found) -> None:
    assert (len(found["sent"]) > 100, len(found["alerts"])) == (True, 4)
    assert problems(expected, found) == []
    found["sent"] += found["sent"][-20:]
    assert problems(expected, found) == []


@pytest.mark.parametrize(
    ("topic", "harm", "problem"),
    [
        ("sent", lambda found: found.pop(0), "contributions: lost"),
        ("sent", lambda found: found.append(found[0]._replace(timestamp=1)), "contributions: from nowhere"),
        ("sent", lambda found: found.append(found[0]._replace(partition=9)), "contributions: in the wrong"),
        (
            "sent",
            lambda found: found.__setitem__(0, found[0]._replace(offset=9999)),
            "contributions: out of order",
        ),
        ("changelog", lambda found: found.pop(), "aggregates are missing"),
        ("changelog", lambda found: found.append(found[0]._replace(key=b"hx")), "aggregates of nobody"),
        ("changelog", lambda found: found.append(found[0]._replace(value=b"[]")), "aggregates are wrong"),
        ("changelog", lambda found: found.append(found[0]._replace(partition=9)), "aggregates are in the"),
        (
            "changelog",
            lambda found: found.append(
                next(each for each in found if each.key[:1] == b"x")._replace(value=b"[]")
            ),
            "views that depend on order are wrong",
        ),
        (
            "changelog",
            lambda found: found.append(found[0]._replace(key=b"x000")),
            "views that depend on order are wrong",
        ),
        ("alerts", lambda found: found.pop(), "alerts across sessions: lost"),
        (
            "alerts",
            lambda found: found.append(found[0]._replace(timestamp=1)),
            "alerts across sessions: from nowhere",
        ),
        (Topic.AGENT_HEALTH, lambda found: found.pop(), "agent-health: the newest"),
        (
            Topic.AGENT_HEALTH,
            lambda found: found.append(found[0]._replace(value=found[1].value)),
            "agent-health: the newest",
        ),
        (Topic.TASK_PROFILES, lambda found: found.pop(), "task-profiles: the newest"),
        (
            Topic.TASK_PROFILES,
            lambda found: found.append(found[0]._replace(partition=9)),
            "task-profiles: in the wrong",
        ),
    ],
)
def test_it_finds_in_the_aggregates(
    expected: Expected, found: Found, topic: str, harm: Callable[[list[Stored]], object], problem: str
) -> None:
    harm(found[topic])
    [said] = problems(expected, found)
    assert said.startswith(problem)


def ledger(*entries: tuple[int, int]) -> Stored:
    built = SettingsLedger(
        tuple(
            LedgerEntry(first, resolve({"entropy_window_size": 5 + version}, DEFAULTS, version)[0])
            for first, version in entries
        )
    )
    return Stored(0, 0, 0, SETTINGS_KEY, built.encode(), ())


def test_the_settings_history_is_what_all_ledgers_say_together() -> None:
    history = settings_history([ledger((10, 1)), ledger((10, 1), (20, 2)), ledger((20, 2), (30, 3))])
    assert [(entry.first_offset, entry.settings.version) for entry in history[0]] == [
        (10, 1),
        (20, 2),
        (30, 3),
    ]


@pytest.mark.parametrize("second", [ledger((11, 1)), ledger((9, 2))])
def test_ledgers_that_contradict_one_another_are_found(second: Stored) -> None:
    with pytest.raises(AssertionError):
        settings_history([ledger((10, 1)), second])


def test_the_settings_of_the_history_are_those_of_the_fold(inputs: list[Stored], expected: Expected) -> None:
    settings = resolve({"entropy_window_size": 2}, DEFAULTS, 1)[0]
    changed = fold(JOB, inputs, {0: (LedgerEntry(100, settings),)})
    for name, written in expected.outputs[Topic.ENRICHED].items():
        partition, offset = map(int, name.split("/")[-3:-1])
        same = changed.outputs[Topic.ENRICHED][name] == written
        assert same == (partition != 0 or offset < 100), name

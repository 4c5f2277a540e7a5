"""`eddy topics` on a broker: what it would do, what it does, what it refuses to do."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from typing import Any

import pytest
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from click.testing import CliRunner, Result

from streams.cli import main
from streams.kafka.client import Brokers, connect
from streams.kafka.connection import Connection
from streams.kafka.topic_identity import job_topics
from tests.integration.brokers import Broker
from topics.plan import ActualTopic, CreateTopic

pytestmark = pytest.mark.integration

CATALOGUE = job_topics("eddy", partitions=2, replicas=1)
NAMES = [topic.name for topic in CATALOGUE.topics]


class Operator:
    """Somebody at a terminal, for whom a job has two partitions and every topic one replica."""

    def __init__(self, broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
        self.connection = Connection(broker.bootstrap)
        self._broker = broker
        for name, value in {
            "BOOTSTRAP_SERVERS": broker.bootstrap,
            "PARTITIONS": "2",
            "REPLICAS": "1",
        }.items():
            monkeypatch.setenv(f"EDDY_{name}", value)

    def topics(self, *words: str) -> Result:
        return CliRunner().invoke(main, ["topics", *words])

    def found(self, names: list[str]) -> dict[str, ActualTopic]:
        async def describe() -> list[ActualTopic]:
            async with connect(self.connection) as brokers:
                return await brokers.describe(names)

        return {topic.name: topic for topic in asyncio.run(describe())}

    def administer(self, action: Callable[[AIOKafkaAdminClient], Coroutine[Any, Any, Any]]) -> None:
        """Change something behind the command's back."""

        async def administer() -> None:
            admin = AIOKafkaAdminClient(bootstrap_servers=self._broker.bootstrap)
            await admin.start()
            try:
                await action(admin)
            finally:
                await admin.close()

        asyncio.run(administer())


@pytest.fixture
def operator(stage_broker: Broker, monkeypatch: pytest.MonkeyPatch) -> Operator:
    return Operator(stage_broker, monkeypatch)


def test_a_plan_is_carried_out_by_apply_and_by_nothing_else(operator: Operator) -> None:
    for _ in range(2):
        planned = operator.topics("plan")
        assert planned.exit_code == 1
        for topic in CATALOGUE.topics:
            assert f"+ create {topic.name}: {topic.partitions} partitions, 1 replicas\n" in planned.stdout
    assert operator.found(NAMES) == {}

    applied = operator.topics("apply")
    assert (applied.exit_code, applied.stdout) == (0, planned.stdout)
    found = operator.found(NAMES)
    for topic in CATALOGUE.topics:
        assert (found[topic.name].partitions, found[topic.name].replicas) == (topic.partitions, 1)
        assert topic.config.items() <= found[topic.name].config.items()

    for words in (["plan"], ["apply"]):
        again = operator.topics(*words)
        assert (again.exit_code, again.stdout) == (0, "Nothing to do: the topics are as they should be.\n")


def test_options_win_over_the_environment(operator: Operator) -> None:
    planned = operator.topics("plan", "--partitions", "7", "--replicas", "3")
    assert "+ create decision-logs: 7 partitions, 3 replicas\n" in planned.stdout


def test_a_plan_says_what_the_brokers_would_refuse_and_changes_nothing(operator: Operator) -> None:
    planned = operator.topics("plan", "--replicas", "3")
    assert planned.exit_code == 1
    assert planned.stderr.startswith(
        "`eddy topics apply` would fail: 3 replicas are wanted, and the cluster has 1 broker: "
    )
    assert operator.topics("plan").stderr == ""
    assert operator.found(NAMES) == {}


def test_the_internal_topics_are_named_after_the_job(
    operator: Operator, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert operator.topics("apply").exit_code == 0
    monkeypatch.setenv("EDDY_APPLICATION_ID", "other")
    planned = operator.topics("plan")
    creations = [line for line in planned.stdout.splitlines() if line.startswith("+ ")]
    own = (
        "sessions-changelog",
        "aggregates-repartition",
        "aggregates-changelog",
        "bridge-traces-changelog",
    )
    assert creations == [f"+ create other-{name}: 2 partitions, 1 replicas" for name in own]


def test_topics_that_fit_one_another_need_no_number_a_second_time(
    operator: Operator, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert operator.topics("apply").exit_code == 0
    monkeypatch.delenv("EDDY_PARTITIONS")
    assert operator.topics("plan").exit_code == 0
    monkeypatch.setenv("EDDY_APPLICATION_ID", "other")
    assert "+ create other-sessions-changelog: 2 partitions, " in operator.topics("plan").stdout


@pytest.mark.parametrize("partitions", ["1", "3"])
def test_another_number_of_partitions_is_refused_topic_by_topic(operator: Operator, partitions: str) -> None:
    assert operator.topics("apply").exit_code == 0
    before = operator.found(NAMES)
    applied = operator.topics("apply", "--partitions", partitions)
    assert applied.exit_code == 1
    refused = [
        line.split()[2].rstrip(":") for line in applied.stdout.splitlines() if line.startswith("! refused ")
    ]
    free = {
        "detector-config",
        "shadow-config",
        "intervention-policy",
        "session-labels",
        *(name for name in NAMES if "otlp" in name or "bridge" in name),
    }
    assert refused == [name for name in NAMES if name not in free]
    assert operator.found(NAMES) == before
    assert "Nothing was changed" in applied.stderr


@pytest.mark.kafka_only("the embedded broker does not carry out a change of a topic's config")
def test_the_topic_of_spans_keeps_the_partitions_that_a_collector_gave_it(operator: Operator) -> None:
    operator.administer(lambda admin: admin.create_topics([NewTopic("otlp_spans", 5, 1)]))
    applied = operator.topics("apply")
    assert applied.exit_code == 0, applied.output
    found = operator.found(NAMES)
    assert found["otlp_spans"].partitions == found["eddy-bridge-traces-changelog"].partitions == 5
    assert found["decision-logs"].partitions == 2


@pytest.mark.kafka_only("the embedded broker does not carry out a change of a topic's config")
def test_a_topic_of_spans_that_the_first_look_does_not_show_keeps_its_partitions(
    operator: Operator, monkeypatch: pytest.MonkeyPatch
) -> None:
    operator.administer(lambda admin: admin.create_topics([NewTopic("otlp_spans", 5, 1)]))
    looks: list[list[str]] = []

    async def blind_at_first(brokers: Brokers, names: Iterable[str]) -> list[ActualTopic]:
        found = [] if not looks else await describe(brokers, names)
        looks.append([topic.name for topic in found])
        return found

    async def blind_counts(brokers: Brokers, names: Iterable[str]) -> dict[str, int]:
        return {} if not looks else await counts(brokers, names)

    describe, counts = Brokers.describe, Brokers.partition_counts
    monkeypatch.setattr(Brokers, "describe", blind_at_first)
    monkeypatch.setattr(Brokers, "partition_counts", blind_counts)
    applied = operator.topics("apply")
    assert applied.exit_code == 0, applied.output
    assert looks[:2] == [[], ["otlp_spans"]]


def test_one_refused_change_leaves_all_others_undone(operator: Operator) -> None:
    spec = CATALOGUE["decision-logs"]
    operator.administer(lambda admin: admin.create_topics([NewTopic(spec.name, 3, 1)]))
    applied = operator.topics("apply", "--partitions", "2")
    assert applied.exit_code == 1
    assert "! refused decision-logs" in applied.stdout
    assert set(operator.found(NAMES)) == {"decision-logs"}


def test_a_plan_made_before_another_operator_created_a_topic_is_made_again(operator: Operator) -> None:
    spec = CATALOGUE["decision-logs"]
    operator.administer(lambda admin: admin.create_topics([NewTopic(spec.name, 3, 1)]))

    async def apply() -> bool:
        async with connect(operator.connection) as brokers:
            return await brokers.apply([CreateTopic(spec)])

    assert not asyncio.run(apply())
    assert operator.found([spec.name])[spec.name].partitions == 3


def test_what_somebody_else_created_is_left_alone(operator: Operator) -> None:
    operator.administer(lambda admin: admin.create_topics([NewTopic("theirs", 5, 1)]))
    assert operator.topics("apply").exit_code == 0
    assert "theirs" not in operator.topics("plan").stdout
    assert operator.found(["theirs"])["theirs"].partitions == 5


@pytest.mark.kafka_only("the embedded broker does not carry out a change of a topic's config")
def test_what_differs_is_put_right_and_what_is_not_ours_stays(operator: Operator) -> None:
    assert operator.topics("apply").exit_code == 0
    theirs = {"cleanup.policy": "compact,delete", "retention.ms": "1000", "segment.ms": "123456"}
    operator.administer(
        lambda admin: admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, "topology", theirs)])
    )
    planned = operator.topics("plan")
    assert planned.exit_code == 1
    wanted = CATALOGUE["topology"].config
    assert f"~ alter topology: retention.ms 1000 -> {wanted['retention.ms']}\n" in planned.stdout

    assert operator.topics("apply").exit_code == 0
    config = operator.found(["topology"])["topology"].config
    assert wanted.items() <= config.items()
    assert config["segment.ms"] == "123456"
    assert operator.topics("plan").exit_code == 0


@pytest.mark.kafka_only("the embedded broker takes any number of replicas")
def test_what_the_brokers_refuse_is_a_sentence(operator: Operator) -> None:
    applied = operator.topics("apply", "--replicas", "3")
    assert applied.exit_code == 2
    assert applied.stderr.startswith(
        "eddy: The brokers refused to create decision-logs: InvalidReplicationFactor"
    )
    assert ".." not in applied.stderr
    assert "EDDY_REPLICAS" in applied.stderr
    assert operator.found(NAMES) == {}

"""`eddy config shadow` on a broker: what is published, what others see of it, and how it ends."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from click.testing import CliRunner, Result

from streams.cli import main
from streams.cli.command_group import WRONG_INPUT
from streams.core.detectors.settings import DEFAULTS
from streams.core.domain.record import Outgoing
from streams.core.domain.topic import Topic
from streams.kafka.client import Brokers, connect
from streams.kafka.connection import Connection
from streams.operate.explain.settings_topic import (
    KEY,
    ShadowConflictError,
    next_document,
    publish_shadow,
    records,
)
from tests.integration.brokers import Broker

pytestmark = pytest.mark.integration


class Operator:
    """Somebody at a terminal."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    def eddy(self, *words: str) -> Result:
        return CliRunner().invoke(main, [*words, "--bootstrap-servers", self._broker.bootstrap])

    def sees(self, *words: str) -> str:
        """Return what a command of `eddy config` prints, which has to succeed."""
        result = self.eddy("config", *words)
        assert (result.exit_code, result.stderr) == (0, ""), result.output
        return result.stdout

    def with_brokers(self, action: Callable[[Brokers], Any]) -> Any:
        async def connected() -> Any:
            async with connect(Connection(self._broker.bootstrap)) as brokers:
                return await action(brokers)

        return asyncio.run(connected())


@pytest.fixture
def operator(stage_broker: Broker) -> Operator:
    operator = Operator(stage_broker)
    assert operator.eddy("topics", "apply", "--partitions", "1", "--replicas", "1").exit_code == 0
    return operator


def test_a_trial_is_begun_looked_at_changed_and_ended(operator: Operator) -> None:
    assert operator.sees("shadow", "get") == "Nothing is tried out.\n"
    assert operator.sees("shadow", "clear") == "Nothing is tried out.\n"
    operator.sees("set", "cycle_loop=4")

    said = operator.sees("shadow", "set", "entropy_window_size=8", "--why", "fewer pages?")
    assert said == "  entropy_window_size: 5 → 8\nShadow settings version 1 is published.\n"
    assert operator.sees("shadow", "get", "cycle_loop") == "4\n"
    assert operator.sees("shadow", "set", 'node_state_source="max"') == (
        '  node_state_source: "uniqueness" → "max"\n'
        "Shadow settings version 2 is published.\n"
        "Tried out beside version 1 in force:\n"
        '  node_state_source = "max", in force "uniqueness"\n'
        "  entropy_window_size = 8, in force 5\n"
    )
    assert json.loads(operator.sees("shadow", "get", "--json")) == {
        "version": 2,
        "in_force": 1,
        "entropy_window_size": 8,
        "node_state_source": "max",
    }
    # What is in force is as it was.
    assert json.loads(operator.sees("list", "--changed", "--json")) == {"version": 1, "cycle_loop": 4}

    assert operator.sees("shadow", "clear", "--why", "seen enough") == (
        "Shadow settings version 2 are not tried out any more.\n"
    )
    assert operator.sees("shadow", "get") == "Nothing is tried out.\n"
    history = [json.loads(line) for line in operator.sees("shadow", "history", "--json").splitlines()]
    assert [(entry["version"], entry["why"], entry.get("ended", False)) for entry in history] == [
        (1, "fewer pages?", False),
        (2, "", False),
        (3, "seen enough", True),
    ]
    # The next trial begins from what is in force again.
    operator.sees("shadow", "set", "entropy_window_size=9")
    assert json.loads(operator.sees("shadow", "get", "--json")) == {
        "version": 4,
        "in_force": 1,
        "entropy_window_size": 9,
    }


def test_a_trial_that_would_change_nothing_is_not_published(operator: Operator) -> None:
    def published() -> int:
        return len(operator.with_brokers(lambda brokers: records(brokers, Topic.SHADOW_CONFIG)))

    assert operator.sees("shadow", "set", "cycle_loop=3") == (
        "  cycle_loop: stays 3\nNothing is published: these values are in force already.\n"
    )
    assert operator.sees("shadow", "set", "cycle_loop=4", "--dry-run") == (
        "  cycle_loop: 3 → 4\nShadow settings version 1 would be published (dry run).\n"
    )
    assert published() == 0
    operator.sees("shadow", "set", "cycle_loop=4")
    assert operator.sees("shadow", "set", "cycle_loop=4") == (
        "  cycle_loop: stays 4\nNothing is published: these values are tried out by version 1 already.\n"
    )
    assert published() == 1


def test_what_is_not_acceptable_is_not_published(operator: Operator) -> None:
    result = operator.eddy("config", "shadow", "set", "entropy_window_size=0", "nonsense=1")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "entropy_window_size: must be" in result.stderr
    assert operator.with_brokers(lambda brokers: records(brokers, Topic.SHADOW_CONFIG)) == []


def test_of_two_trials_begun_at_the_same_moment_one_is_told_that_it_lost(operator: Operator) -> None:
    async def race(brokers: Brokers) -> None:
        await publish_shadow(brokers, next_document(DEFAULTS, 1, {"cycle_loop": 4}, {}))
        with pytest.raises(ShadowConflictError, match="Another user published"):
            await publish_shadow(brokers, next_document(DEFAULTS, 1, {"cycle_loop": 5}, {}))

    operator.with_brokers(race)
    assert operator.sees("shadow", "get", "cycle_loop") == "4\n"


def test_a_tombstone_ends_a_trial_and_the_next_one_is_no_conflict(operator: Operator) -> None:
    operator.sees("shadow", "set", "cycle_loop=4")
    operator.sees("shadow", "set", "cycle_loop=5")
    tombstone = [(0, Outgoing(KEY, None, 0))]
    operator.with_brokers(lambda brokers: brokers.write(Topic.SHADOW_CONFIG, tombstone))
    assert operator.sees("shadow", "get") == "Nothing is tried out.\n"
    assert operator.sees("shadow", "set", "cycle_loop=6").endswith(
        "Shadow settings version 1 is published.\n"
    )
    assert operator.sees("shadow", "get", "cycle_loop") == "6\n"


def test_without_the_topic_it_is_said_how_to_create_it(stage_broker: Broker) -> None:
    result = Operator(stage_broker).eddy("config", "shadow", "get")
    assert (result.exit_code, result.stdout) == (WRONG_INPUT, "")
    assert "eddy topics apply" in result.stderr

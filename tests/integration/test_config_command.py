"""`eddy config` on a broker: what is published, what is refused, and what others see of it."""

import asyncio
import json
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import orjson
import pytest
from click.testing import CliRunner, Result

from streams.cli import main
from streams.cli.command_group import WRONG_INPUT
from streams.core.detectors.settings import DEFAULTS
from streams.core.domain.record import Outgoing
from streams.core.domain.topic import Topic
from streams.core.settings_document import to_document
from streams.kafka.client import Brokers, Stored, connect
from streams.kafka.connection import Connection
from streams.kafka.settings_feed import read_document
from streams.operate.explain.settings_topic import (
    KEY,
    SettingsConflictError,
    changed_document,
    publish,
    records,
)
from tests.integration.brokers import Broker

pytestmark = pytest.mark.integration

CHANGED: dict[str, Any] = {"at": 1_760_000_000_000, "by": "ann", "why": "", "settings": []}


class Operator:
    """Somebody at a terminal."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    def eddy(self, *words: str) -> Result:
        return CliRunner().invoke(main, [*words, "--bootstrap-servers", self._broker.bootstrap])

    def config(self, *words: str) -> Result:
        return self.eddy("config", *words)

    def sees(self, *words: str) -> str:
        """Return what a command prints, which has to succeed."""
        result = self.config(*words)
        assert (result.exit_code, result.stderr) == (0, ""), result.output
        return result.stdout

    def history(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.sees("history", "--json").splitlines()]

    def with_brokers(self, action: Callable[[Brokers], Any]) -> Any:
        async def connected() -> Any:
            async with connect(Connection(self._broker.bootstrap)) as brokers:
                return await action(brokers)

        return asyncio.run(connected())

    def stored(self) -> list[Stored]:
        found: list[Stored] = self.with_brokers(records)
        return found

    def writes(self, *values: bytes | None) -> None:
        """Write to the topic behind the command's back."""
        outgoing = [(0, Outgoing(KEY, value, int(time.time() * 1000))) for value in values]
        self.with_brokers(lambda brokers: brokers.write(Topic.DETECTOR_CONFIG, outgoing))


@pytest.fixture
def operator(stage_broker: Broker) -> Operator:
    operator = Operator(stage_broker)
    assert operator.eddy("topics", "apply", "--partitions", "1", "--replicas", "1").exit_code == 0
    return operator


def test_a_setting_is_changed_read_and_taken_back(operator: Operator) -> None:
    assert operator.sees("list").splitlines()[0] == "version 0"
    assert operator.sees("list", "--changed") == "version 0\n"

    said = operator.sees("set", "entropy_window_size=8", "node_state_source=max", "--why", "fewer pages")
    assert said == (
        "  entropy_window_size: 5 → 8\n"
        '  node_state_source: "uniqueness" → "max"\n'
        "Settings version 1 is published.\n"
    )
    assert operator.sees("get", "entropy_window_size") == "8\n"
    assert json.loads(operator.sees("get", "node_state_source", "--json")) == {"node_state_source": "max"}

    taken_back = operator.sees("set", "--unset", "entropy_window_size", 'read_tools=["cat"]')
    assert "  entropy_window_size: 8 → 5" in taken_back.splitlines()
    assert taken_back.endswith("version 2 is published.\n")
    lines = operator.sees("list").splitlines()
    assert lines[0] == "version 2"
    assert '* node_state_source = "max"' in lines
    assert '* read_tools = ["cat"]' in lines
    assert f"  entropy_window_size = {DEFAULTS.entropy_window_size}" in lines
    assert len(lines) == 1 + len(to_document(DEFAULTS))
    assert json.loads(operator.sees("list", "--changed", "--json")) == {
        "version": 2,
        "node_state_source": "max",
        "read_tools": ["cat"],
    }

    first, second = operator.history()
    assert (first["version"], first["why"]) == (1, "fewer pages")
    assert first["settings"] == ["entropy_window_size", "node_state_source"]
    assert (second["version"], second["settings"]) == (2, ["entropy_window_size", "read_tools"])
    assert first["at"] <= second["at"] <= time.time() * 1000
    # Each document is whole: a worker that reads the last one alone has it all.
    for record in operator.stored():
        assert record.key == KEY
        assert read_document(record.value)[1].keys() == {"version", "changed", *to_document(DEFAULTS)}


def test_a_change_that_changes_nothing_is_not_published(operator: Operator) -> None:
    assert operator.sees("set", "entropy_window_size=5", "--unset", "cycle_loop") == (
        "  entropy_window_size: stays 5\n"
        "  cycle_loop: stays 3\n"
        "Nothing is published: the defaults in force have these values already.\n"
    )
    assert operator.stored() == []
    operator.sees("set", "entropy_window_size=8", "cycle_loop=3")
    # The history names what is different, not what was typed.
    assert operator.history()[0]["settings"] == ["entropy_window_size"]
    assert operator.sees("set", "entropy_window_size=8").endswith(
        "Nothing is published: version 1 in force has these values already.\n"
    )
    assert len(operator.stored()) == 1


def test_a_version_that_was_asked_for_is_published_though_no_value_changes(operator: Operator) -> None:
    assert operator.sees("set", "cycle_loop=3", "--version", "8") == (
        "  cycle_loop: stays 3\nSettings version 8 is published.\n"
    )
    assert operator.sees("list", "--changed") == "version 8\n"


def test_a_dry_run_checks_and_shows_and_publishes_nothing(operator: Operator) -> None:
    assert operator.sees("set", "cycle_loop=4", "--dry-run") == (
        "  cycle_loop: 3 → 4\nSettings version 1 would be published (dry run).\n"
    )
    refused = operator.config("set", "cycle_loop=1", "--dry-run")
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert operator.stored() == []


def test_all_changes_of_a_call_take_effect_or_none(operator: Operator) -> None:
    result = operator.config("set", "entropy_window_size=8", "cycle_loop=1", "nonsense=1")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("eddy: Not changed: ")
    assert "cycle_loop: must be an integer from 2 to 1000" in result.stderr
    assert "nonsense: is not a setting" in result.stderr
    assert operator.stored() == []
    assert operator.config("get", "nonsense").exit_code == 2


def test_of_two_changes_at_the_same_moment_one_is_told_that_it_lost(operator: Operator) -> None:
    mine = changed_document(DEFAULTS, {"entropy_window_size": 8}, CHANGED)
    yours = changed_document(DEFAULTS, {"entropy_window_size": 9}, {**CHANGED, "by": "bob"})

    async def race(brokers: Brokers) -> None:
        await publish(brokers, mine)
        with pytest.raises(SettingsConflictError, match="Another user published version 1 at"):
            await publish(brokers, yours)

    operator.with_brokers(race)
    assert operator.sees("get", "entropy_window_size") == "8\n"
    assert [entry.get("problem") for entry in operator.history()] == [
        None,
        "it does not follow version 1, which was in force",
    ]
    # The loser tries again, on what the winner has made of it.
    assert operator.sees("set", "cycle_loop=7") == "  cycle_loop: 3 → 7\nSettings version 2 is published.\n"
    assert json.loads(operator.sees("list", "--changed", "--json")) == {
        "version": 2,
        "entropy_window_size": 8,
        "cycle_loop": 7,
    }


def test_a_change_that_two_others_have_overtaken_is_told_that_it_lost(operator: Operator) -> None:
    later = changed_document(replace(DEFAULTS, version=1), {"cycle_loop": 7}, CHANGED)
    overtaken = changed_document(DEFAULTS, {"entropy_window_size": 9}, CHANGED)

    async def race(brokers: Brokers) -> None:
        await publish(brokers, later)
        with pytest.raises(SettingsConflictError):
            await publish(brokers, overtaken)

    operator.with_brokers(race)


def test_history_shows_what_workers_ignore_and_obeys_nothing(operator: Operator) -> None:
    evil = {"by": "eve\x1b[2J", "why": "\u202egnihton", "at": 10**18, "settings": 7}
    operator.writes(
        b"\x1b[2J",
        None,
        orjson.dumps({"version": 5, "changed": evil, "entropy_window_size": 0, "cycle_loop": 9}),
    )
    result = operator.config("history")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert [line.split(":")[0] for line in lines[:2]] == ["ignored at offset 0", "ignored at offset 1"]
    assert lines[2].startswith(
        "version 5  at an unknown time  eve\\x1b[2J  \\u202egnihton  refused: entropy_window_size: "
    )
    assert all(line.isprintable() for line in lines)
    assert [
        entry["offset"] for entry in map(json.loads, operator.config("history", "--json").stdout.splitlines())
    ] == [0, 1, 2]
    # What is left of it is in force, and the next change goes on from there.
    assert operator.config("get", "cycle_loop").stdout == "9\n"
    assert operator.config("set", "entropy_window_size=6").stdout.endswith("version 6 is published.\n")


def test_without_the_topic_it_is_said_how_to_create_it(stage_broker: Broker) -> None:
    result = Operator(stage_broker).config("list")
    assert (result.exit_code, result.stdout) == (WRONG_INPUT, "")
    assert "eddy topics apply" in result.stderr

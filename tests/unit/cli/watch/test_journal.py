"""The file that stands for topics: what is written is folded, and read again by the next watch."""

from __future__ import annotations

import asyncio
import resource
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from eddy_client.protocol import Status

from streams.cli.watch.journal import KEPT_MS, Journal
from streams.core.domain.record import Outgoing
from streams.core.domain.topic import Topic
from streams.core.errors import ConfigurationError, InfrastructureError
from streams.kafka.stored import Stored

NOW = 1_790_000_000_000
Taken = list[tuple[Topic, int, int, dict[str, Any]]]


def opened(path: Path, now: int = NOW) -> tuple[Journal, Taken]:
    taken: Taken = []

    def take(topic: Topic, stored: Stored, fields: Mapping[str, Any]) -> None:
        taken.append((topic, stored.offset, stored.timestamp, dict(fields)))

    return Journal(path, take, now), taken


def test_a_record_is_folded_as_it_is_written_and_again_by_the_next_watch(tmp_path: Path) -> None:
    journal, taken = opened(tmp_path / "eddy" / "watch.jsonl")
    assert journal.add(Topic.SESSION_COMMANDS, b"s", {"n": 1}, NOW) == (0, 0)
    assert journal.add(Topic.SESSION_COMMAND_ACKS, b"s", {"n": 2}, NOW) == (0, 0)
    assert journal.add(Topic.SESSION_COMMANDS, b"s", {"n": 3}, NOW) == (0, 1)
    journal.close()
    again, read = opened(tmp_path / "eddy" / "watch.jsonl")
    assert (
        read
        == taken
        == [
            (Topic.SESSION_COMMANDS, 0, NOW, {"n": 1}),
            (Topic.SESSION_COMMAND_ACKS, 0, NOW, {"n": 2}),
            (Topic.SESSION_COMMANDS, 1, NOW, {"n": 3}),
        ]
    )
    assert again.add(Topic.SESSION_COMMANDS, b"s", {}, NOW) == (0, 2)
    again.close()


def test_what_is_folded_is_what_the_next_watch_reads(tmp_path: Path) -> None:
    journal, taken = opened(tmp_path / "watch.jsonl")
    journal.add(Topic.SESSION_COMMAND_ACKS, b"s", {"status": Status.APPLIED, "tools": ("a",)}, NOW)
    journal.close()
    assert type(taken[0][3]["status"]) is str
    assert taken[0][3] == {"status": "applied", "tools": ["a"]}


def test_it_takes_what_is_written_to_brokers(tmp_path: Path) -> None:
    journal, taken = opened(tmp_path / "watch.jsonl")
    record = Outgoing(b"policy", b'{"kind": "policy"}', NOW, [])

    async def written() -> None:
        assert await journal.partition_counts([journal.topic(Topic.CONSOLE_ACTIONS)]) == {
            "console-actions": 1
        }
        assert await journal.write("console-actions", [(0, record), (0, record)]) == [(0, 0), (0, 1)]

    asyncio.run(written())
    assert [each[1] for each in taken] == [0, 1]
    journal.close()


def test_what_is_older_than_a_command_may_last_is_left_out_but_for_the_policy(tmp_path: Path) -> None:
    journal, _ = opened(tmp_path / "watch.jsonl")
    for version in (1, 2):
        journal.add(Topic.INTERVENTION_POLICY, b"", {"version": version}, NOW)
    journal.add(Topic.SESSION_COMMANDS, b"s", {"n": 1}, NOW)
    journal.add(Topic.SESSION_COMMANDS, b"s", {"n": 2}, NOW + KEPT_MS)
    journal.close()
    again, read = opened(tmp_path / "watch.jsonl", NOW + KEPT_MS + 1)
    assert [each[3] for each in read] == [{"version": 2}, {"n": 2}]
    assert again.add(Topic.SESSION_COMMANDS, b"s", {}, NOW) == (0, 2)
    again.close()


@pytest.mark.parametrize(
    "end", [b'{"topic": "sess', b"\x00\xff", b"[]", b'{"topic": "no-topic", "offset": 1}']
)
def test_a_line_that_is_none_is_passed_over(tmp_path: Path, end: bytes) -> None:
    journal, _ = opened(tmp_path / "watch.jsonl")
    journal.add(Topic.SESSION_COMMANDS, b"s", {"n": 1}, NOW)
    journal.close()
    with (tmp_path / "watch.jsonl").open("ab") as file:
        file.write(end)
    again, read = opened(tmp_path / "watch.jsonl")
    assert [each[3] for each in read] == [{"n": 1}]
    again.add(Topic.SESSION_COMMANDS, b"s", {"n": 2}, NOW)
    again.close()
    third, read = opened(tmp_path / "watch.jsonl")
    assert [each[3] for each in read] == [{"n": 1}, {"n": 2}]
    third.close()


def test_of_two_watches_the_second_is_refused_until_the_first_has_ended(tmp_path: Path) -> None:
    first, _ = opened(tmp_path / "watch.jsonl")
    with pytest.raises(ConfigurationError, match="Another `eddy watch` has"):
        opened(tmp_path / "watch.jsonl")
    first.add(Topic.SESSION_COMMANDS, b"s", {"n": 1}, NOW)
    first.close()
    again, read = opened(tmp_path / "watch.jsonl")
    assert [each[3] for each in read] == [{"n": 1}]
    again.close()


def test_a_full_disk_leaves_no_half_line(tmp_path: Path) -> None:
    journal, taken = opened(tmp_path / "watch.jsonl")
    journal.add(Topic.SESSION_COMMANDS, b"s", {"n": 1}, NOW)
    room = (tmp_path / "watch.jsonl").stat().st_size + 20
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, before[1]))
    try:
        for _ in range(2):
            with pytest.raises(InfrastructureError, match="cannot be written"):
                journal.add(Topic.SESSION_COMMANDS, b"s", {"n": 2}, NOW)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)
    journal.add(Topic.SESSION_COMMANDS, b"s", {"n": 3}, NOW)
    journal.close()
    assert [each[3] for each in taken] == [{"n": 1}, {"n": 3}]
    again, read = opened(tmp_path / "watch.jsonl")
    assert [each[3] for each in read] == [{"n": 1}, {"n": 3}]
    again.close()


def test_only_its_user_may_read_it(tmp_path: Path) -> None:
    journal, _ = opened(tmp_path / "watch.jsonl")
    journal.close()
    assert (tmp_path / "watch.jsonl").stat().st_mode & 0o777 == 0o600


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigurationError, match=r"watch\.jsonl cannot be read and written"):
        opened(tmp_path / "file" / "watch.jsonl")

"""What hooks of this machine have to answer, by what was commanded."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from streams.cli.watch import local_guard
from streams.cli.watch.local_guard import LocalGuard

NOW = 1_790_000_000_000


class Clock:
    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> int:
        return self.now


class Scene:
    """A guard, the clock it reads, and what it has answered."""

    def __init__(self) -> None:
        self.clock, self.acks = Clock(), list[dict[str, Any]]()
        self.guard = LocalGuard(self.acks.append, self.clock)
        self._offset = 0

    def command(self, action: str, session_id: str = "s-1", **fields: Any) -> dict[str, Any]:
        value = {
            "command_id": f"c-{self._offset}",
            "scope": "session",
            "action": action,
            "session_id": session_id,
            "issued_at": self.clock.now,
            "expires_at": self.clock.now + 60_000,
            "reason": "It loops.",
            "issuer": {"name": "policy tell-it"},
            **fields,
        }
        self.guard.command(value, self._offset)
        self._offset += 1
        return value

    def check(self, session_id: str = "s-1", *, hands_over: bool = True) -> tuple[str, list[str]]:
        session = self.guard.session(session_id, "codex", "codex")
        outcome = self.guard.check(session, hands_over=hands_over)
        self.guard.delivered(session, outcome)
        return outcome.level, [note.text for note in outcome.notes]

    def said(self) -> list[tuple[str | None, str]]:
        return [(ack["command_id"], ack["status"]) for ack in self.acks]


@pytest.fixture
def scene() -> Scene:
    return Scene()


def test_a_session_of_which_nothing_is_asked_runs_and_is_reported_once(scene: Scene) -> None:
    assert [scene.check() for _ in range(3)] == [("running", [])] * 3
    assert scene.said() == [(None, "attached")]


def test_a_note_is_given_once_and_not_where_no_model_reads_it(scene: Scene) -> None:
    scene.check()
    scene.command("inject_message", message="Choose another way.")
    assert scene.check(hands_over=False) == ("running", [])
    assert scene.check() == ("running", ["Choose another way."])
    assert scene.check() == ("running", [])
    assert scene.said()[1:] == [("c-0", "received"), ("c-0", "applied")]


def test_a_note_that_no_hook_got_is_given_to_the_next_and_acknowledged_then(scene: Scene) -> None:
    scene.command("inject_message", message="Once.")
    session = scene.guard.session("s-1", "codex", "codex")
    outcome = scene.guard.check(session, hands_over=True)
    assert [note.text for note in outcome.notes] == ["Once."]
    scene.guard.lost(session, outcome)
    assert ("c-0", "applied") not in scene.said()
    assert scene.check(hands_over=False) == ("running", [])
    assert ("c-0", "applied") not in scene.said()
    assert scene.check() == ("running", ["Once."])
    assert scene.said().count(("c-0", "applied")) == 1
    assert scene.check() == ("running", [])


def test_a_session_that_asks_for_the_first_time_gets_what_stands(scene: Scene) -> None:
    scene.command("pause")
    assert scene.check()[0] == "paused"
    assert scene.check("s-2")[0] == "running"


def test_the_next_watch_gives_no_note_again_and_keeps_a_pause(scene: Scene) -> None:
    given = [scene.command("inject_message", message="Once."), scene.command("pause")]
    scene.clock.now += 1
    resumed = scene.command("resume")
    assert scene.check() == ("running", ["Once."])
    later = Scene()
    for offset, value in enumerate([*given, resumed]):
        later.guard.command(value, offset)
    for ack in scene.acks:
        later.guard.answered(ack)
    assert later.check() == ("running", [])
    later.guard.command({**given[1], "command_id": "c-9"}, 3)
    assert later.check()[0] == "paused"


def test_a_session_that_was_forgotten_gets_no_note_again(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_guard, "MOST_SESSIONS", 2)
    scene.command("inject_message", message="Once.")
    assert scene.check()[1] == ["Once."]
    for ack in list(scene.acks):
        scene.guard.answered(ack)
    scene.check("s-2")
    scene.check("s-3")
    assert scene.check() == ("running", [])


def test_what_is_no_command_is_passed_over(scene: Scene) -> None:
    scene.guard.command({"command_id": 7}, 0)
    assert scene.check() == ("running", [])


async def test_a_pause_is_waited_for_until_it_is_over(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_guard, "_LONGEST_WAIT_S", 3600.0)  # a command wakes it
    scene.command("pause")
    session = scene.guard.session("s-1", "codex", "codex")
    said = asyncio.Event()
    waiting = asyncio.create_task(scene.guard.wait(session, 60, said.set, hands_over=True))
    await asyncio.sleep(0)
    assert ("c-0", "applied") in scene.said()
    assert not waiting.done()
    assert said.is_set()
    scene.command("resume")
    assert (await waiting).level == "running"


async def test_a_wait_ends_at_its_time(scene: Scene) -> None:
    scene.command("pause")
    session = scene.guard.session("s-1", "codex", "codex")
    assert (await scene.guard.wait(session, 0, asyncio.Event().set, hands_over=True)).level == "paused"


async def test_an_abort_ends_a_wait(scene: Scene) -> None:
    scene.command("pause")
    session = scene.guard.session("s-1", "codex", "codex")
    said = asyncio.Event()
    waiting = asyncio.create_task(scene.guard.wait(session, 60, said.set, hands_over=True))
    await asyncio.sleep(0)
    scene.command("abort")
    outcome = await waiting
    assert outcome.level == "aborted"
    assert outcome.by is not None
    assert outcome.by.reason == "It loops."

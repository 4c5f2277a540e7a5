"""`eddy forget` on real workers: what goes, what stays, and what happens where nobody is there to do it."""

from __future__ import annotations

import itertools
import json
import signal

import pytest

from streams.core.domain.erasure import ERASED_FROM
from streams.core.domain.topic import Topic
from streams.operate.erasure import session_digest
from streams.worker.crash_point import CrashPoint
from streams.worker.options import changelog_topic
from streams.worker.state.changelog import is_stub, session_key
from tests.integration.load import load
from tests.integration.reference_fold import value_of
from tests.integration.stage import SOON_MISSED, Stage
from tests.integration.test_limits_load import decision, keyed
from tests.integration.worker_process import PATIENCE_SECONDS, until

pytestmark = pytest.mark.integration

LOOPS, OTHER, NEVER = "s-loops", "s-other", "s-never"
KILLED = 128 + signal.SIGKILL
CALLS = 8


def looping(session_id: str, number: int) -> dict[str, object]:
    fields = decision(
        session_id, number, intent="again", tool_input="the same", tool_output_summary="nothing"
    )
    fields["identity"] = {"agent_id": f"agent-of-{session_id}", "agent_type": "coder"}
    return fields


async def loop(stage: Stage, *sessions: str, first: int = 0) -> None:
    await stage.send(
        keyed(looping(session_id, number), stage.partitions)
        for number in range(first, first + CALLS)
        for session_id in sessions
    )
    await stage.processed()


async def held(stage: Stage, topic: str) -> set[bytes]:
    """Return the keys whose newest record on a topic has a value that is no stub."""
    newest = {stored.key: stored.value for stored in await stage.read(topic)}
    return {
        key for key, value in newest.items() if key is not None and value is not None and not is_stub(value)
    }


async def places(stage: Stage, session_id: str) -> dict[str, bool]:
    """Return of what an order clears whether it holds the session."""
    changelog = changelog_topic(stage.application_id)
    found = {changelog: session_key(session_id) in await held(stage, changelog)}
    return found | {str(topic): session_id.encode() in await held(stage, topic) for topic in ERASED_FROM}


async def carried_out(stage: Stage) -> None:
    """Wait until the orders of a command are processed."""
    for order in await stage.read(Topic.DECISION_LOGS):
        if order.value is None:
            stage.sent[order.partition] = max(stage.sent[order.partition], order.offset + 1)
    await stage.processed()


async def test_a_session_goes_from_every_place_that_can_be_cleared_and_another_one_stays(
    stage: Stage,
) -> None:
    await stage.worker().ready()
    await loop(stage, LOOPS, OTHER)
    await stage.command("label", LOOPS, "not-a-loop", "--why", "a text of a person")
    changelog = changelog_topic(stage.application_id)

    async def written() -> bool:
        return (await places(stage, LOOPS))[changelog] and (await places(stage, OTHER))[changelog]

    await until(written, PATIENCE_SECONDS, "the first checkpoint", *stage.workers)
    before = await places(stage, OTHER)
    assert before == await places(stage, LOOPS)
    assert before[Topic.TOPOLOGY]

    found = [
        json.loads(line)
        for line in (await stage.command("forget", LOOPS, "--dry-run", "--json")).splitlines()
    ]
    assert found[0]["found_on"][Topic.SESSION_LABELS] == 1
    assert found[0]["agents"] == [f"agent-of-{LOOPS}"]
    assert Topic.DECISION_LOGS in {each["topic"] for each in found[1]["remains"]}
    assert await places(stage, LOOPS) == before

    said = await stage.command(
        "forget", LOOPS, "--yes", "--why", "request 7", "--wait", str(PATIENCE_SECONDS)
    )
    assert "Forgotten: 1 of 1 session." in said

    async def gone() -> bool:
        return not any((await places(stage, LOOPS)).values())

    await until(gone, PATIENCE_SECONDS, "the checkpoint of the stub", *stage.workers)
    assert await places(stage, OTHER) == before
    assert await held(stage, Topic.SESSION_LABELS) == set()
    audit = [value_of(each) for each in await stage.read(Topic.CONSOLE_ACTIONS) if each.key == b"forget"]
    assert [(each["result"], each["why"]) for each in audit] == [
        (None, "request 7"),
        ("accepted", "request 7"),
    ]
    assert [json.loads(each["request"])["sessions"] for each in audit] == [[session_digest(LOOPS)]] * 2
    assert LOOPS not in json.dumps(audit)
    # The alerts stay, and name it.
    again = json.loads((await stage.command("forget", LOOPS, "--dry-run", "--json")).splitlines()[0])
    assert set(again["found_on"]) <= {Topic.SESSION_ALERTS, Topic.ENTROPY_ALERTS}

    # What comes later begins anew.
    await loop(stage, LOOPS, first=CALLS)
    steps = [
        value_of(stored)["eddy"]["step"]
        for stored in await stage.read(Topic.ENRICHED)
        if stored.key == LOOPS.encode()
    ]
    assert steps == [*range(1, CALLS + 1)] * 2


async def test_sessions_of_an_agent_and_those_before_a_day_are_chosen_by_what_the_topics_say(
    stage: Stage,
) -> None:
    await stage.worker(checkpoint_s=0).ready()
    await loop(stage, LOOPS, OTHER)
    of_agent = await stage.command("forget", "--agent", f"agent-of-{OTHER}", "--dry-run", "--json")
    assert [json.loads(line).get("session_id") for line in of_agent.splitlines()] == [OTHER, None]
    for day, chosen in (("2020-01-01", []), ("2999-01-01", [LOOPS, OTHER])):
        listed = await stage.command("forget", "--before", day, "--dry-run", "--json")
        assert [json.loads(line).get("session_id") for line in listed.splitlines()] == [*chosen, None]
    nobody = await stage.command("forget", "--agent", f"agent-of-{OTHER}", "--before", "2020-01-01", "--yes")
    assert "No session is like that" in nobody


async def test_without_a_worker_the_order_waits_and_the_command_says_so(stage: Stage) -> None:
    worker = stage.worker()
    await worker.ready()
    await loop(stage, LOOPS)
    worker.terminate()
    assert await worker.ended() == 0
    status, said, complained = await stage.attempt("forget", LOOPS, "--yes", "--wait", "1")
    assert (status, "Forgotten: 0 of 1 session." in said) == (1, True)
    assert "No worker has confirmed 1 session within 1 s." in complained
    audit = [value_of(each)["result"] for each in await stage.read(Topic.CONSOLE_ACTIONS)]
    assert audit == [None]

    # One that restores meanwhile carries it out, and whoever asks again is told that nothing is left.
    stage.worker(directory=worker.directory / "data")
    await carried_out(stage)

    async def gone() -> bool:
        return not any((await places(stage, LOOPS)).values())

    await until(gone, PATIENCE_SECONDS, "the stub", *stage.workers)


async def test_a_session_that_nothing_shows_is_ordered_everywhere_and_leaves_nothing(stage: Stage) -> None:
    await stage.worker().ready()
    await loop(stage, OTHER)
    said = await stage.command("forget", NEVER, "--yes", "--wait", str(PATIENCE_SECONDS))
    assert f"{NEVER}: nothing of it shows." in said
    assert "Forgotten: 1 of 1 session." in said
    orders = [each for each in await stage.read(Topic.DECISION_LOGS) if each.value is None]
    assert sorted(each.partition for each in orders) == [*range(stage.partitions)]
    assert not any((await places(stage, NEVER)).values())


async def test_a_state_that_is_not_written_yet_goes_too(stage: Stage) -> None:
    await stage.worker(checkpoint_s=300).ready()
    await loop(stage, LOOPS)
    await stage.command("forget", LOOPS, "--yes", "--wait", str(PATIENCE_SECONDS))
    await loop(stage, LOOPS, first=CALLS)
    steps = [
        value_of(stored)["eddy"]["step"]
        for stored in await stage.read(Topic.ENRICHED)
        if stored.key == LOOPS.encode()
    ]
    assert steps == [*range(1, CALLS + 1)] * 2


async def test_dead_letters_of_the_session_are_named_and_stay(stage: Stage) -> None:
    await stage.worker().ready()
    await loop(stage, LOOPS)
    partition, record = keyed(looping(LOOPS, 90), stage.partitions)
    await stage.send([(partition, record._replace(value=b"\xff\xfe"))])
    await stage.processed()
    [letter] = await stage.read(Topic.DEAD_LETTERS)
    said = await stage.command("forget", LOOPS, "--yes", "--wait", str(PATIENCE_SECONDS))
    assert f"Dead letters, which stay: {letter.partition}:{letter.offset}." in said
    assert len(await stage.read(Topic.DEAD_LETTERS)) == 1


async def test_who_says_nothing_of_whom_or_cannot_be_asked_forgets_nobody(stage: Stage) -> None:
    for words, problem in (
        ((), "Say which sessions"),
        (("s-1", "--agent", "a"), "Say which sessions"),
        (("s-1",), "There is no terminal to ask"),
    ):
        status, _, complained = await stage.attempt("forget", *words)
        assert (status, problem in complained) == (2, True)
    status, _, complained = await stage.attempt("forget", "s-1", "--yes", application_id="nobody")
    assert (status, "no worker has run under this EDDY_APPLICATION_ID" in complained) == (2, True)


@pytest.mark.parametrize("point", [CrashPoint.FOLDED, CrashPoint.OUTPUTS_ACKED, CrashPoint.CHANGELOG_ACKED])
async def test_a_worker_that_is_killed_over_an_order_leaves_it_to_its_successor(
    stage: Stage, point: CrashPoint
) -> None:
    """The load of the tests with faults has orders, too; here the last epoch of all is one."""
    await stage.send(itertools.islice(load(stage.partitions), 200))
    first = stage.worker(**SOON_MISSED)
    await first.ready()
    await stage.processed()
    await loop(stage, LOOPS)
    first.terminate()
    assert await first.ended() == 0
    dying = stage.worker(directory=first.directory / "data", crash_point=f"{point}:1", **SOON_MISSED)
    await dying.ready()
    await stage.attempt("forget", LOOPS, "--yes", "--wait", "1")
    assert await dying.ended() == KILLED, dying.tail()
    stage.worker(directory=first.directory / "data")
    await carried_out(stage)

    async def gone() -> bool:
        return not any((await places(stage, LOOPS)).values())

    await until(gone, PATIENCE_SECONDS, "the stub", *stage.workers)
    assert (await stage.verdict()).problems == []

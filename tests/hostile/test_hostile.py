"""Whatever is sent: the worker lives, judges the next record, loses nothing, and sets aside what is bad."""

import re

import pytest

from streams.operate.redrive.letter import read
from tests.hostile import batches
from tests.hostile.case import Case
from tests.hostile.catalogue import CASES
from tests.hostile.ground import Ground

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
async def test_the_worker_sets_it_aside_and_judges_the_next_record(ground: Ground, case: Case) -> None:
    session = re.sub(r"\W+", "-", case.name)
    first = await ground.send_good(session, 0)
    expected = {letter.offset: letter for letter in await case.attack(ground, session)}
    last = await ground.send_good(session, 1)
    await ground.accounted(first, last)
    assert {first, last} <= ground.judged
    assert (await ground.worker.get("/livez"))[0] == 200

    letters = {offset: ground.letters[offset] for offset in range(first, last) if offset in ground.letters}
    assert letters.keys() == expected.keys()
    for offset, letter in expected.items():
        found = read(letters[offset])
        assert (found.reason, found.key, found.value) == (letter.reason, letter.key, letter.value)
        assert list(found.headers) == list(letter.headers)
        said = {name: (content or b"").decode() for name, content in letters[offset].headers}
        assert letter.says.items() <= said.items()


async def test_every_command_that_reads_the_topics_leaves_out_what_it_cannot_read(ground: Ground) -> None:
    session = "commands"
    first = await ground.send_good(session, 0)
    # In a session of its own: an event that has been judged is not judged again.
    await batches.CASES[0].attack(ground, session)
    await batches.CASES[2].attack(ground, f"{session}-2")
    last = await ground.send_good(session, 1)
    await ground.accounted(first, last)
    stage = ground.stage
    listed = await stage.command("dlq", "list", "--reason", "unreadable")
    assert f"0:{first + 2}" in listed
    place = next(line.split()[0] for line in listed.splitlines() if f"0:{first + 2}" in line)
    assert "the name of a header is not UTF-8" in await stage.command("dlq", "show", place)
    # It holds the message, so it can be sent again: without what no client reads it is judged.
    await stage.command("dlq", "redrive", place, "--yes")
    again = await ground.send_good(session, 2)
    await ground.accounted(last, again)
    assert ground.judged >= {*range(last, again + 1)}
    await stage.command("explain", session, "--topic")
    backtest = "backtest", "--a", "default", "--b", "live", "--topic", "decision-logs"
    status, printed, complained = await stage.attempt(*backtest, "--from", f"0:{first}", "--to", f"0:{last}")
    assert status == 0, complained
    assert printed
    assert f"the record at offset {first + 2} cannot be read and is left out" in complained

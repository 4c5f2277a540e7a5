"""Whatever is sent: the worker lives, judges the next record, loses nothing, and sets aside what is bad."""

import re

import pytest

from streams.redrive.letter import read
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

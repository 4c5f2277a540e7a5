"""The page of a session on a broker, with a worker: one headline, whatever of its steps is read."""

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from streams.kafka.clock import now_ms
from tests.integration.console_operator import Operator
from tests.integration.load import decision, keyed
from tests.integration.stage import Stage
from tests.integration.test_job_page import console
from tests.integration.worker_process import PATIENCE_SECONDS
from tests.network import Link

pytestmark = pytest.mark.integration

LONG = 3_000
ADDRESSES = ("", "&lens=all", "&before=2000", "&before=50", "&tab=scores", "&tab=evidence", "&tab=commands")
PARTS = ("verdict", "figures")


def steps(session_id: str, count: int) -> Iterator[dict[str, Any]]:
    """Yield a session that loops early, gets on, and loops at its end; it reports its tokens."""
    began = now_ms() - 1_000 * count
    for number in range(count):
        told = " ".join(
            "".join(chr(97 + int(digit)) for digit in str(number**power)) for power in range(5, 11)
        )
        value = decision(session_id, number, tool_input=f"read part {number}", tool_output_summary=told)
        if 10 <= number < 20 or number >= count - 300:
            value["action"] |= {"tool_input": "read it", "tool_output_summary": "nothing"}
        value["meta"]["timestamp"] = began + 1_000 * number
        value["state_delta"] = {"tokens_consumed": 1_000, "cumulative_session_cost": number / 100}
        yield value


async def shows(operator: Operator, session_id: str, records: int) -> None:
    """Wait until a console has read a session."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            rows = (await operator.reads_json("/sessions"))["rows"]
            done = {row["session_id"]: (row["records"], row["tokens"]) for row in rows}
            if done.get(session_id) == (records, 1_000 * records):
                return
            await asyncio.sleep(0.05)


def head(page: str) -> list[str]:
    """Return what the head of a page says, without tags and without how long ago something was."""
    found = [re.search(rf'id="{part}".*?</(?:dl|div>\s*</div)>', page) for part in PARTS]
    texts = [re.sub(r"<time.*?</time>", "", each[0]) for each in found if each is not None]
    return [re.sub(r"<[^>]+>|\s+", " ", each) for each in texts]


async def test_every_tab_of_a_long_session_has_the_headline_of_all_its_steps(
    stage: Stage, tmp_path: Path
) -> None:
    stage.worker()
    await stage.send(keyed(value, stage.partitions) for value in steps("s", LONG))
    await stage.processed()
    async with console(stage, tmp_path) as operator:
        await shows(operator, "s", LONG)
        pages = [await operator.reads(f"/session?id=s{each}") for each in ADDRESSES]
        [row] = (await operator.reads_json("/sessions"))["rows"]
        began = await operator.reads("/session?id=s&at=loop")
        middle = await operator.reads("/session?id=s&at=1500&lens=all&go=1")
    heads = [head(page) for page in pages]
    assert len(heads[0]) == len(PARTS)
    for address, each in zip(ADDRESSES, heads, strict=True):
        assert each == heads[0], address
    verdict, figures = heads[0]
    assert "is considered looping" in verdict
    assert "300 times in a row" in verdict
    assert "299,000 tokens" in verdict
    assert "3,000" in figures
    assert "3M" in figures
    assert (row["records"], row["tokens"], row["level"]) == (LONG, 1_000 * LONG, "LOOP")
    for page, number in ((began, LONG - 299), (middle, 1_500)):
        assert re.findall(r'<li class="step [^"]*selected[^"]*" id="s(\d+)"', page) == [str(number)]
        assert "Later steps" in page
        assert "Earlier steps" in page


async def test_a_session_can_be_stopped_and_looked_at_while_no_broker_answers(
    linked_stage: tuple[Stage, Link], tmp_path: Path
) -> None:
    stage, link = linked_stage
    stage.worker()
    await stage.send(keyed(value, stage.partitions) for value in steps("s", 320))
    await stage.processed()
    async with console(stage, tmp_path) as operator:
        await shows(operator, "s", 320)
        link.silence()
        page = await operator.reads("/session?id=s&dialog=pause")
        link.heal()
        read = await operator.reads("/session?id=s")
    assert "The steps are not read yet" in page
    assert 'name="action" value="pause"' in page
    assert "is considered looping" in head(page)[0]
    assert head(page)[1].replace(" ", "") == head(read)[1].replace(" ", "")

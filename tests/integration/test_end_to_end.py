"""A worker on a broker: what comes out is what the pipeline makes of what went in."""

import itertools

import pytest

from schemas.codec import Codec, OutputFormat
from streams.core.domain.topic import Topic
from tests.integration.load import load
from tests.integration.stage import Stage

pytestmark = pytest.mark.integration


@pytest.mark.parametrize("output_format", list(OutputFormat))
async def test_every_record_comes_out_once_scored_or_as_a_dead_letter(
    stage: Stage, output_format: OutputFormat
) -> None:
    await stage.send(itertools.islice(load(stage.partitions), 2000))
    worker = await stage.worker(output_format=output_format).ready()
    await stage.processed()
    verdict = await stage.verdict(codec=Codec.bundled(output_format))
    assert sum(verdict.repeated.values()) == 0
    orders = [each for each in await stage.read(Topic.TOPOLOGY) if each.value is None]
    assert orders
    assert verdict.outputs[Topic.ENRICHED] + verdict.outputs[Topic.DEAD_LETTERS] + len(orders) == 2000
    assert min(verdict.outputs.values()) > 0
    worker.terminate()
    assert await worker.ended() == 0, worker.tail()

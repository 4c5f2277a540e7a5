"""A workload in its partitions, with everything that should come of it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

from benchmarks.broker import Client
from benchmarks.precomputed import Precomputed
from benchmarks.stages import Input, Stages, judge
from benchmarks.workload import Workload, produce
from streams.core.domain.topic import Topic


def placed(workload: Workload, begins: Mapping[int, int]) -> dict[int, list[Input]]:
    """Return the records of a workload by partition, where they stand behind ``begins``."""
    records: dict[int, list[Input]] = {partition: [] for partition in begins}
    started = int(time.time() * 1000) - workload.total
    for partition, key, value, timestamp in produce(workload, len(begins), started):
        inputs = records[partition]
        inputs.append(Input(begins[partition] + len(inputs), key, value, timestamp))
    return {partition: inputs for partition, inputs in records.items() if inputs}


class Backlog:
    """The records of a workload at the offsets they have, or will have, in `decision-logs`.

    Attributes:
        workload: What it was made of.
        records: By partition; partitions without any are left out.
        begins: Where each partition ended before.
        file: `known`, for the contenders.
        stages: What judging costs.
        known: What comes of each record.
    """

    def __init__(self, workload: Workload, begins: dict[int, int], directory: Path) -> None:
        self.workload = workload
        self.records = placed(workload, begins)
        self.begins = begins
        self.file = directory / f"{workload.name}.pickle"
        self.stages: Stages
        self.known: Precomputed
        self.stages, self.known = judge(self.records, warm_up=workload.warm_up)
        self.known.save(self.file)

    @classmethod
    async def make(cls, client: Client, workload: Workload, directory: Path) -> Backlog:
        """Return the backlog as it would stand behind what is in `decision-logs` now."""
        return cls(workload, await client.ends(Topic.DECISION_LOGS), directory)

    async def append(self, client: Client) -> None:
        """Write it to `decision-logs`."""
        await client.write(Topic.DECISION_LOGS, self.records)

    def outputs(self) -> dict[tuple[str, int], list[tuple[bytes, bytes]]]:
        """Return the (key, value) that must come out, in order, by (topic, partition)."""
        return self.known.outputs(
            {partition: [record.key for record in records] for partition, records in self.records.items()}
        )

"""The topics of the control loop, in memory."""

from __future__ import annotations

from streams.core.domain.topic import CONTROL


class Topics:
    """Topics in memory, each with five partitions."""

    def __init__(self, *missing):
        self.held = {f"staging.{each}": [] for each in CONTROL if each not in missing}

    def topic(self, name):
        return f"staging.{name}"

    async def partition_counts(self, names):
        return dict.fromkeys(self.held.keys() & set(names), 5)

    async def write(self, topic, records):
        held = self.held[topic]
        places = []
        for partition, record in records:
            places.append((partition, sum(each == partition for each, _ in held)))
            held.append((partition, record))
        return places

    def on(self, topic):
        return [record for _, record in self.held.get(f"staging.{topic}", ())]

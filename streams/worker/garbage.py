"""Rare garbage collection, for a process whose many long-lived values hold no cycles.

A worker keeps tens of thousands of decoded sessions: immutable values that reference counts free the moment
they are replaced. Python's collector finds nothing among them, but walks them again and again: at its default
thresholds 100,000 sessions cost a sixth of the CPU and pauses of hundreds of milliseconds. What does make
cycles (exceptions, tasks) is little, and is still found.
"""

from __future__ import annotations

import gc

#: Allocations until the youngest generation is looked through; looks at one generation until the next's.
THRESHOLDS = (20_000, 50, 100)


def collect_rarely() -> None:
    """Keep the collector away from everything there is now, and from what follows for longer."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)

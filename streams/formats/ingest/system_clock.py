"""The clock of the machine, for what follows inputs."""

from __future__ import annotations

import asyncio
import time


class SystemClock:
    """Time that only rises, and a wait that ends if the process is to stop."""

    def now(self) -> float:
        """Return seconds that only rise."""
        return time.monotonic()

    async def wait(self, seconds: float) -> bool:
        """Wait. A stop cancels the wait instead of ending it."""
        await asyncio.sleep(seconds)
        return False

"""What the benchmark tells a contender: one JSON object in the environment."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from typing import Self

VARIABLE = "EDDY_BENCHMARK_CONTENDER"


@dataclass(frozen=True, slots=True)
class ContenderConfig:
    """Where to read, and where state is.

    With the file ``precomputed`` outcomes are looked up instead of judged.
    """

    bootstrap: str
    group: str
    partitions: int
    directory: str
    idempotent: bool = True
    session_timeout_s: float = 15.0
    precomputed: str | None = None

    def environment(self) -> dict[str, str]:
        """Return the variables of the contender's process."""
        return {VARIABLE: json.dumps(asdict(self))}

    @classmethod
    def load(cls) -> Self:
        """Read what `environment` wrote."""
        return cls(**json.loads(os.environ[VARIABLE]))

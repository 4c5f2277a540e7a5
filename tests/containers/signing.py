"""cosign, and a registry of images in memory, from the proxy of Go modules.

`python -m tests.containers.signing` builds what is missing: five minutes of a CPU.
"""

from __future__ import annotations

import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from streams.core.errors import InfrastructureError
from streams.kafka.embedded.child import Child
from tests.containers.stand_ins import CACHE
from tests.kubernetes.tools import install, made_by_go
from tests.ports import own_port

FOLDER: Final = CACHE / "signing-3.1.3"
PROGRAMS: Final = {
    "cosign": "github.com/sigstore/cosign/v3/cmd/cosign@v3.1.3",
    "registry": "github.com/google/go-containerregistry/cmd/registry@v0.20.7",
}
_POLL_SECONDS: Final = 0.1
_START_SECONDS: Final = 30.0


@contextmanager
def running_registry() -> Iterator[str]:
    """Run an empty registry for as long as the block lasts; yield its address, such as localhost:24000."""
    address = f"localhost:{(port := own_port())}"
    scratch = Path(tempfile.mkdtemp(prefix="eddy-registry-"))
    with Child([str(FOLDER / "registry"), "-port", str(port)], scratch=scratch) as child:
        deadline = time.monotonic() + _START_SECONDS
        while not _answers(f"http://{address}/v2/"):
            if child.ended(within=_POLL_SECONDS) or time.monotonic() > deadline:
                raise InfrastructureError(f"The registry does not answer:\n{child.said()}")
        yield address


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=_START_SECONDS) as answered:
            return bool(answered.status == 200)
    except OSError:
        return False


def main() -> int:
    """Build what is missing; return 75 (try later) where that cannot be done."""
    absent = [module for name, module in PROGRAMS.items() if not (FOLDER / name).is_file()]

    def make(go: str) -> None:
        for module in absent:
            install(go, module, FOLDER)

    return made_by_go("cosign needs", make) if absent else 0


if __name__ == "__main__":
    sys.exit(main())

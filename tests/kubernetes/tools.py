"""Kustomize, Helm and the definitions of KEDA and of the Prometheus operator, from the proxy of Go modules.

`python -m tests.kubernetes.tools` builds and fetches what is missing: some two minutes on two idle cores.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import yaml

from tests.pages import ROOT

CACHE: Final = ROOT / ".cache" / "kubernetes"
PROGRAMS: Final = {
    "kustomize": "sigs.k8s.io/kustomize/kustomize/v5@v5.7.1",
    "helm": "helm.sh/helm/v3/cmd/helm@v3.19.2",
}
#: By kind: the module, and the file of the definition in it.
DEFINITIONS: Final = {
    "ScaledObject": ("github.com/kedacore/keda/v2@v2.17.2", "config/crd/bases/keda.sh_scaledobjects.yaml"),
    "PodMonitor": (
        "github.com/prometheus-operator/prometheus-operator@v0.85.0",
        "example/prometheus-operator-crd/monitoring.coreos.com_podmonitors.yaml",
    ),
}


def program(name: str) -> Path | None:
    """Return where a program is, or nothing if it has not been built."""
    path = CACHE / PROGRAMS[name].rpartition("@")[2] / name
    return path if path.is_file() else None


def schema(kind: str) -> dict[str, Any]:
    """Return the schema of a resource that is not of Kubernetes itself."""
    definition = yaml.safe_load((CACHE / f"{kind}.yaml").read_text())
    (version,) = [one for one in definition["spec"]["versions"] if one["served"] and one["storage"]]
    found: dict[str, Any] = version["schema"]["openAPIV3Schema"]
    return found


def install(go: str, module: str, folder: Path) -> None:
    """Build a program, named as module@version, into a folder.

    Raises:
        subprocess.CalledProcessError: it cannot be fetched or built.
    """
    folder.mkdir(parents=True, exist_ok=True)
    command = ["nice", "-n", "10", go, "install", "-trimpath", "-ldflags=-s -w", module]
    subprocess.run(command, env={**os.environ, "GOBIN": str(folder)}, check=True)


def _fetch(go: str, kind: str) -> None:
    module, path = DEFINITIONS[kind]
    (CACHE / "go.mod").write_text("module definitions\n")  # Go fetches nothing outside a module
    told = subprocess.run(
        [go, "mod", "download", "-json", module], cwd=CACHE, check=True, capture_output=True, text=True
    )
    shutil.copyfile(Path(json.loads(told.stdout)["Dir"]) / path, CACHE / f"{kind}.yaml")


def made_by_go(what: str, make: Callable[[str], None]) -> int:
    """Make what is missing; return 75 (try later) where there is no Go, or no proxy answers.

    Args:
        what: Names it in a message, such as "Helm needs".
        make: Makes it with a Go at a path.
    """
    if (go := shutil.which("go")) is None:
        sys.stderr.write(f"`go` is not on the PATH: {what} Go 1.24 or newer.\n")
        return os.EX_TEMPFAIL
    try:
        make(go)
    except subprocess.CalledProcessError as error:
        sys.stderr.write(f"{error}\n{error.stderr or ''}")
        return os.EX_TEMPFAIL
    return 0


def main() -> int:
    """Make what is missing; return 75 (try later) where that cannot be done."""
    CACHE.mkdir(parents=True, exist_ok=True)
    programs = [name for name in PROGRAMS if program(name) is None]
    definitions = [kind for kind in DEFINITIONS if not (CACHE / f"{kind}.yaml").is_file()]

    def make(go: str) -> None:
        for name in programs:
            install(go, PROGRAMS[name], CACHE / PROGRAMS[name].rpartition("@")[2])
        for kind in definitions:
            _fetch(go, kind)

    return made_by_go("Kustomize and Helm need", make) if programs + definitions else 0


if __name__ == "__main__":
    sys.exit(main())

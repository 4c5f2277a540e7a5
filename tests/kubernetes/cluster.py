"""The API server of Kubernetes with its database, and kubectl, built from the proxy of Go modules.

`python -m tests.kubernetes.cluster` builds them: five minutes of a CPU, once. No pod runs, since there is no
node; what is stored was checked, completed, and admitted or refused by the real server.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from streams.core.errors import InfrastructureError
from streams.kafka.embedded.child import Child
from tests.kubernetes.tools import CACHE, made_by_go
from tests.ports import own_port

VERSION: Final = "1.34.1"
FOLDER: Final = CACHE / f"cluster-{VERSION}"
PROGRAMS: Final = {
    "kube-apiserver": "k8s.io/kubernetes/cmd/kube-apiserver",
    "kubectl": "k8s.io/kubernetes/cmd/kubectl",
    "etcd": "./etcd",
}
_ETCD: Final = """package main

import (
\t"os"

\t"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() { etcdmain.Main(os.Args) }
"""
_START_SECONDS: Final = 120.0
_POLL_SECONDS: Final = 0.2
_TOKEN: Final = "a-token-of-a-test"


def missing() -> list[str]:
    """Return the programs that have not been built."""
    return [name for name in PROGRAMS if not (FOLDER / name).is_file()]


def build(go: str) -> None:
    """Build what is missing, in a module of its own: that of Kubernetes refers to folders beside it.

    Raises:
        subprocess.CalledProcessError: it cannot be fetched or built.
    """
    source = FOLDER / "source"
    (source / "etcd").mkdir(parents=True, exist_ok=True)
    (source / "etcd" / "main.go").write_text(_ETCD)
    imports = "\n".join(f'\t_ "{path}"' for path in PROGRAMS.values() if not path.startswith("."))
    (source / "programs.go").write_text(
        f"//go:build programs\n\npackage programs\n\nimport (\n{imports}\n)\n"
    )
    (source / "go.mod").write_text("module cluster\n")
    told = subprocess.run(
        [go, "mod", "download", "-json", f"k8s.io/kubernetes@v{VERSION}"],
        cwd=source, check=True, capture_output=True, text=True,
    )  # fmt: skip
    module = Path(json.loads(told.stdout)["GoMod"]).read_text()
    beside = re.findall(r"^\s+(k8s\.io/\S+) => \./staging", module, re.MULTILINE)
    version = re.search(r"^go (\S+)$", module, re.MULTILINE)
    assert version
    lines = [f"module cluster\n\ngo {version[1]}\n", f"require k8s.io/kubernetes v{VERSION}\n"]
    lines += [f"replace {path} => {path} v0{VERSION[1:]}" for path in beside]
    (source / "go.mod").write_text("\n".join(lines) + "\n")
    _go(go, source, "mod", "tidy")
    for name in missing():
        _go(
            go, source, "build", "-trimpath", f"-ldflags={_flags()}", "-o", str(FOLDER / name), PROGRAMS[name]
        )


def _flags() -> str:
    """Return what tells the programs their version: Helm asks the server for it."""
    major, minor, _ = VERSION.split(".")
    said = {"gitVersion": f"v{VERSION}", "gitMajor": major, "gitMinor": minor, "gitTreeState": "clean"}
    packages = ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
    return " ".join(
        ["-s -w", *(f"-X {each}.{name}={value}" for each in packages for name, value in said.items())]
    )


def _go(go: str, folder: Path, *words: str) -> None:
    subprocess.run(["nice", "-n", "10", go, *words], cwd=folder, check=True)


class Cluster:
    """A running API server.

    Args:
        config: File that tells programs how to reach it.
    """

    def __init__(self, config: Path) -> None:
        self._config = config

    def run(self, *command: str | Path, told: str = "", fails: bool = False) -> str:
        """Run a program against it; return what it says.

        Args:
            command: Name of the program, and its arguments.
            told: What the program reads.
            fails: Whether it has to fail, so that its complaint is returned.
        """
        path = os.pathsep.join([str(FOLDER), os.environ["PATH"]])
        environment = {**os.environ, "PATH": path, "KUBECONFIG": str(self._config)}
        done = subprocess.run(
            command,
            env=environment,
            input=told,
            capture_output=True,
            text=True,
            check=False,
            cwd=CACHE.parents[1],
        )
        assert (done.returncode != 0) is fails, done.stdout + done.stderr
        return done.stderr if fails else done.stdout


@contextmanager
def running_cluster() -> Iterator[Cluster]:
    """Run one for as long as the block lasts, with an empty database."""
    with tempfile.TemporaryDirectory(prefix="eddy-cluster-") as folder:
        own = Path(folder)
        key = rsa.generate_private_key(65537, 2048)
        pem, plain = serialization.Encoding.PEM, serialization.NoEncryption()
        (own / "key").write_bytes(
            key.private_bytes(pem, serialization.PrivateFormat.TraditionalOpenSSL, plain)
        )
        (own / "tokens").write_text(f'{_TOKEN},admin,1,"system:masters"\n')
        database, peers, port = own_port(), own_port(), own_port()
        etcd = [
            str(FOLDER / "etcd"), f"--data-dir={own}/etcd", f"--listen-client-urls=http://127.0.0.1:{database}",
            f"--advertise-client-urls=http://127.0.0.1:{database}", f"--listen-peer-urls=http://127.0.0.1:{peers}",
        ]  # fmt: skip
        server = [
            str(FOLDER / "kube-apiserver"),
            f"--etcd-servers=http://127.0.0.1:{database}", f"--secure-port={port}",
            "--bind-address=127.0.0.1",
            f"--cert-dir={own}/certificates", f"--token-auth-file={own}/tokens",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={own}/key",
            f"--service-account-signing-key-file={own}/key", "--authorization-mode=RBAC",
            "--service-cluster-ip-range=10.0.0.0/24",
            # Nobody makes the accounts of new namespaces: controllers do, and there are none here.
            "--disable-admission-plugins=ServiceAccount",
        ]  # fmt: skip
        with _child(etcd), _child(server) as child:
            cluster = Cluster(_config(own, port))
            deadline = time.monotonic() + _START_SECONDS
            while not _is_ready(cluster):
                if child.ended(within=_POLL_SECONDS) or time.monotonic() > deadline:
                    raise InfrastructureError(f"The API server is not ready:\n{child.said()}")
            yield cluster


def _child(command: list[str]) -> Child:
    return Child(command, scratch=Path(tempfile.mkdtemp(prefix="eddy-cluster-")))


def _config(folder: Path, port: int) -> Path:
    server = {"server": f"https://127.0.0.1:{port}", "insecure-skip-tls-verify": True}
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "here",
        "clusters": [{"name": "here", "cluster": server}],
        "users": [{"name": "here", "user": {"token": _TOKEN}}],
        "contexts": [{"name": "here", "context": {"cluster": "here", "user": "here"}}],
    }
    path = folder / "config"
    path.write_text(json.dumps(document))
    return path


def _is_ready(cluster: Cluster) -> bool:
    try:
        return cluster.run("kubectl", "get", "--raw", "/readyz") == "ok"
    except AssertionError:
        return False


def main() -> int:
    """Build what is missing; return 75 (try later) where that cannot be done."""
    return made_by_go("the API server needs", build) if missing() else 0


if __name__ == "__main__":
    sys.exit(main())

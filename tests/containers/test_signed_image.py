"""An image in a registry is signed and attested as the recipe does it, and verified as the page says."""

from __future__ import annotations

import base64
import json
import os
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.containers import signing
from tests.containers.stack import podman
from tests.containers.stand_ins import environment
from tests.pages import DEPLOY, ROOT

pytestmark = [pytest.mark.containers, pytest.mark.timeout(900)]

#: As an image has it that was built where nothing was changed.
COMMIT = subprocess.run(
    ["git", "-C", str(ROOT), "rev-parse", "HEAD"], capture_output=True, text=True, check=True
).stdout.strip()
REVISION = "LABEL org.opencontainers.image.revision="
PARTS = "/opt/eddy/sbom.cdx.json"
NAMED = "registry.example.com/eddy-streams"


class Signer(NamedTuple):
    """Somebody with a key, in a folder of their own."""

    folder: Path
    variables: dict[str, str]

    def run(self, *words: str | Path, fails: bool = False) -> str:
        """Run a program; return what it says, or what it complains of if it has to fail."""
        done = subprocess.run(
            [*map(str, words)],
            cwd=self.folder,
            env=self.variables,
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        assert (done.returncode != 0) is fails, done.stdout + done.stderr
        return done.stderr if fails else done.stdout

    def push(self, image: str, to: str) -> str:
        """Put an image into a registry; return its name there, by digest."""
        self.run("podman", "push", "--digestfile", self.folder / "digest", image, to)
        return f"{to.rpartition(':')[0]}@{(self.folder / 'digest').read_text()}"

    def derived(self, image: str, recipe: str) -> str:
        """Build an image from another one; return its name."""
        (self.folder / "Containerfile").write_text(f"FROM {image}\n{recipe}\n")
        name = f"localhost/eddy-signed-{len(recipe)}"
        self.run("podman", "build", "--format", "docker", "--tag", name, self.folder)
        return name


@pytest.fixture(scope="module")
def registry() -> Iterator[str]:
    """Yield the address of a registry."""
    if signing.main() == os.EX_TEMPFAIL:
        pytest.skip("cosign and a registry of images cannot be built here")
    with signing.running_registry() as address:
        yield address


@pytest.fixture
def signer(tmp_path: Path, registry: str) -> Signer:
    """Return somebody with a key of cosign, who does not want to be named in a public log."""
    (registries := tmp_path / "registries.conf").write_text(
        f'[[registry]]\nlocation = "{registry}"\ninsecure = true\n'
    )
    variables = environment() | {
        "PATH": f"{signing.FOLDER}:{os.environ['PATH']}",
        "COSIGN_PASSWORD": "",
        "COSIGN_FLAGS": "--signing-config none.json",
        "CONTAINERS_REGISTRIES_CONF": str(registries),
    }
    signer = Signer(tmp_path, variables)
    for line in DEPLOY.lines():
        if line.startswith(("cosign generate-key-pair", "cosign signing-config")):
            signer.run(*shlex.split(line))
    return signer


def of_the_page(beginning: str, image: str, pushed: str = "") -> list[str]:
    """Return the lines of the page that begin so, for an image in a registry and what is pushed there."""
    lines = [line for line in DEPLOY.lines() if line.startswith(beginning)]
    return [line.replace(NAMED, image).replace("localhost/eddy-streams", pushed) for line in lines]


@pytest.fixture
def signed(image: str, signer: Signer, registry: str) -> str:
    """Return the name of an image in a registry that was signed as the page says, without its tag."""
    named = f"{registry}/eddy-streams"
    built = signer.derived(image, f"{REVISION}{COMMIT}")
    for name in ("deploy", "Makefile"):
        (signer.folder / name).symlink_to(ROOT / name)
    [push] = of_the_page("podman push", named, built)
    [sign] = of_the_page("COSIGN_FLAGS=", named)
    for line in (push, sign):
        signer.run("bash", "-c", line)
    return named


def predicate(said: str) -> dict[str, Any]:
    """Return what an attestation says of an image."""
    statement = json.loads(base64.b64decode(json.loads(said.splitlines()[0])["payload"]))
    found: dict[str, Any] = statement["predicate"]
    return found


def test_the_lines_of_the_page_verify_it_its_parts_and_its_commit(signer: Signer, signed: str) -> None:
    [line] = of_the_page("cosign verify ", signed)
    assert "docker-manifest-digest" in signer.run("bash", "-c", line)
    parts, source = [
        predicate(signer.run("bash", "-c", line))
        for line in of_the_page("cosign verify-attestation ", signed)
    ]
    assert {"aiokafka", "eddy-streams"} <= {each["name"] for each in parts["components"]}
    [dependency] = source["buildDefinition"]["resolvedDependencies"]
    assert dependency["digest"] == {"gitCommit": COMMIT}
    assert source["runDetails"]["builder"]["id"] == "urn:eddy:builder:maintainer"


def test_another_image_under_the_same_tag_and_another_key_are_refused(
    image: str, signer: Signer, signed: str
) -> None:
    lines = of_the_page("cosign verify", signed)
    assert len(lines) == 3
    signer.run("cosign", "generate-key-pair", "--output-key-prefix", "another")
    for line in lines:
        said = signer.run("bash", "-c", line.replace("cosign.pub", "another.pub"), fails=True)
        assert "failed to verify signature" in said
    signer.push(signer.derived(image, "LABEL changed=yes"), f"{signed}:0.2.0")
    for line in lines:
        said = signer.run("bash", "-c", line, fails=True)
        assert "no signatures found" in said or "no matching attestations" in said


@pytest.mark.parametrize(
    ("recipe", "why"),
    [
        (f'{REVISION}""', "does not say which commit it is"),
        (f"{REVISION}{'0' * 40}", "which is not in this repository"),
        (f"{REVISION}{COMMIT}\nUSER 0\nRUN echo {{}} > {PARTS}", "does not list the parts of Eddy"),
        (f"{REVISION}{COMMIT}\nUSER 0\nRUN rm {PARTS}", "sbom.cdx.json"),
    ],
    ids=["no commit", "another's commit", "no parts", "no list"],
)
def test_an_image_of_another_is_not_signed(
    image: str, signer: Signer, registry: str, recipe: str, why: str
) -> None:
    pushed = signer.push(signer.derived(image, recipe), f"{registry}/eddy-unsigned:0.2.0")
    assert why in signer.run(ROOT / "deploy" / "sign-image", "cosign.key", pushed, fails=True)
    assert "no signatures found" in signer.run(
        "cosign", "verify", "--insecure-ignore-tlog", "--key", "cosign.pub", pushed, fails=True
    )


def test_what_may_be_another_image_tomorrow_or_is_several_is_not_signed(
    image: str, signer: Signer, registry: str
) -> None:
    script = ROOT / "deploy" / "sign-image"
    tagged = f"{registry}/eddy-several:0.2.0"
    assert "name it by its digest" in signer.run(script, "cosign.key", tagged, fails=True)
    podman("manifest", "create", "eddy-several")
    try:
        signer.run("podman", "manifest", "add", "eddy-several", f"containers-storage:{image}")
        pushing = ("--all", "--digestfile", signer.folder / "digest")
        signer.run("podman", "manifest", "push", *pushing, "eddy-several", f"docker://{tagged}")
    finally:
        podman("manifest", "rm", "eddy-several")
    index = f"{registry}/eddy-several@{(signer.folder / 'digest').read_text()}"
    assert "sign each by its own digest" in signer.run(script, "cosign.key", index, fails=True)


def test_an_image_names_its_commit_only_if_nothing_was_changed(image: str) -> None:
    label = '{{index .Config.Labels "org.opencontainers.image.revision"}}'
    said = subprocess.run([ROOT / "deploy" / "commit"], capture_output=True, text=True, check=False)
    native = [*(ROOT / "dist").glob("eddy_native-*.whl")]
    expected = "" if native or said.returncode else said.stdout.strip()
    assert podman("image", "inspect", "--format", label, image).strip() == expected

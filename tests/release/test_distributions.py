"""What is released works where it is installed: without this tree, and from another folder."""

import json
import os
import re
import shutil
import sys
import tarfile
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.pages import DEPLOY, GETTING_STARTED, README, ROOT
from tests.release.conftest import VERSION, environment, run

pytestmark = [pytest.mark.release, pytest.mark.timeout(600)]

READ_LOOP = ROOT / "streams" / "formats" / "recordings" / "read_loop.jsonl"

AGENT = """
from eddy_client import Eddy

eddy = Eddy(None, agent="coder-7", file="run.jsonl")
with eddy.session("s-1", goal="fix the build") as session:
    for _ in range(6):
        with session.tool("shell", {"command": "make"}) as step:
            step.result = "no rule to make target"
eddy.close()
"""


def commit_of(checkout: Path) -> str:
    return run("git", "rev-parse", "HEAD", cwd=checkout)[:12]


def test_there_is_an_sdist_and_a_wheel_of_each_and_nothing_else(dist: Path) -> None:
    assert {path.name for path in dist.iterdir()} == {
        f"{name}-{VERSION}{ending}"
        for name in ("eddy_streams", "eddy_client")
        for ending in (".tar.gz", "-py3-none-any.whl")
    }


def test_the_wheel_holds_the_packages_and_the_sdist_what_explains_them(dist: Path) -> None:
    wheel = ZipFile(next(dist.glob("eddy_streams-*.whl"))).namelist()
    assert {name.split("/")[0].partition("-")[0] for name in wheel} == {
        "eddy_streams",  # what describes the distribution, and the man pages
        "schemas",
        "streams",
        "topics",
    }
    with tarfile.open(next(dist.glob("eddy_streams-*.tar.gz"))) as sdist:
        inside = {"/".join(name.split("/")[1:]) for name in sdist.getnames()}
    assert {"README.md", "LICENSE", "CHANGELOG.md", "docs/README.md", "constraints/run.txt"} <= inside
    assert not any(name.startswith(("tests", "benchmarks", ".ci", "client/")) for name in inside)


@pytest.mark.skipif(
    shutil.which("ssh-keygen") is None, reason="needs ssh-keygen: apt-get install openssh-client"
)
def test_what_is_signed_can_be_verified_as_the_documents_say_and_a_changed_wheel_is_found(
    checkout: Path, dist: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "dist"
    shutil.copytree(dist, folder)
    run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", tmp_path / "key", cwd=tmp_path)
    run(checkout / "deploy" / "sign", "key", folder, cwd=tmp_path)
    (folder / "eddy-signers").write_text(f"releases {(tmp_path / 'key.pub').read_text()}")
    verify, check = [line for line in DEPLOY.lines() if "SHA256SUMS" in line]
    assert "Good" in run("sh", "-c", verify, cwd=folder)
    assert run("sh", "-c", check, cwd=folder).count("OK") == 5
    said = json.loads((folder / "provenance.json").read_text())
    assert {each["name"] for each in said["subject"]} == {path.name for path in dist.iterdir()}
    [source] = said["predicate"]["buildDefinition"]["resolvedDependencies"]
    assert source["digest"]["gitCommit"] == run("git", "rev-parse", "HEAD", cwd=checkout).strip()
    (wheel,) = folder.glob("eddy_client-*.whl")
    wheel.write_bytes(wheel.read_bytes() + b"x")
    with pytest.raises(AssertionError, match="FAILED"):
        run("sh", "-c", check, cwd=folder)
    with (folder / "SHA256SUMS").open("a") as sums:
        sums.write(f"{'0' * 64}  another\n")
    with pytest.raises(AssertionError, match="incorrect signature"):
        run("sh", "-c", verify, cwd=folder)


@pytest.fixture
def copy(checkout: Path, dist: Path, tmp_path: Path) -> Path:
    """Return a clone of the checkout with what was built in it."""
    run("git", "clone", "--quiet", checkout, "copy", cwd=tmp_path)
    shutil.copytree(dist, tmp_path / "copy" / "dist")
    (tmp_path / "key").touch()
    return tmp_path / "copy"


def refused(copy: Path) -> str:
    """Return why nothing is signed."""
    with pytest.raises(AssertionError) as complaint:
        run(copy / "deploy" / "sign", copy.parent / "key", cwd=copy)
    assert not (copy / "dist" / "SHA256SUMS.sig").exists()
    return str(complaint.value)


def test_wheels_of_another_commit_are_not_signed(copy: Path) -> None:
    run("git", "commit", "--quiet", "--allow-empty", "--message", "Later", cwd=copy)
    assert re.search(r"was built from g\w+ 0, not from \w+: run `make dist` again", refused(copy))


def test_nothing_is_signed_where_a_file_was_changed_or_added(copy: Path) -> None:
    run("git", "config", "status.showUntrackedFiles", "no", cwd=copy)
    (copy / "streams" / "added.py").touch()
    assert "Files differ from the commit" in refused(copy)
    (copy / "streams" / "added.py").unlink()
    (copy / "README.md").write_text("changed")
    assert "Files differ from the commit" in refused(copy)


def test_a_wheel_that_was_built_where_a_file_was_changed_says_so_and_is_not_signed(copy: Path) -> None:
    readme = (copy / "README.md").read_bytes()
    (copy / "README.md").write_text("changed")
    shutil.rmtree(copy / "dist")
    for project in (".", "client"):
        run(sys.executable, "-m", "build", "--outdir", copy / "dist", project, cwd=copy)
    (copy / "README.md").write_bytes(readme)
    assert re.search(r"was built from g\w+ 1, not from", refused(copy))


@pytest.mark.parametrize("other", ["eddy_client-0.0.9-py3-none-any.whl", "eddy_streams-0.1.0.tar.gz"])
def test_files_of_other_versions_are_not_signed(copy: Path, other: str) -> None:
    (copy / "dist" / other).touch()
    assert "and no others, have to be there" in refused(copy)


def test_a_copy_within_the_clone_of_another_is_not_signed_for_it(copy: Path, tmp_path: Path) -> None:
    run("git", "init", "--quiet", cwd=tmp_path)
    run("git", "commit", "--quiet", "--allow-empty", "--message", "One", cwd=tmp_path)
    shutil.rmtree(copy / ".git")
    assert "not a git repository" in refused(copy)


def test_who_builds_the_same_commit_gets_the_same_wheels(checkout: Path, dist: Path, tmp_path: Path) -> None:
    for project in (".", "client"):
        run(sys.executable, "-m", "build", "--outdir", tmp_path, project, cwd=checkout)
    again = {path.name: path.read_bytes() for path in tmp_path.glob("*.whl")}
    assert again == {path.name: path.read_bytes() for path in dist.glob("*.whl")}


def test_the_licence_is_in_every_wheel(dist: Path) -> None:
    for wheel in dist.glob("*.whl"):
        assert any(name.endswith("/licenses/LICENSE") for name in ZipFile(wheel).namelist())


def test_the_version_is_the_tag_and_the_commit_is_named(eddy: Path, checkout: Path, tmp_path: Path) -> None:
    said = run(eddy / "eddy", "--version", cwd=tmp_path)
    assert said == f"eddy, version {VERSION} (commit {commit_of(checkout)})\n"


def test_a_shell_completes_its_commands(eddy: Path, tmp_path: Path) -> None:
    run(eddy / "eddy", "completion", "bash", cwd=tmp_path)
    asked = ("env", "_EDDY_COMPLETE=bash_complete", "COMP_WORDS=eddy\ndet", "COMP_CWORD=1")
    assert run(*asked, eddy / "eddy", cwd=tmp_path) == "plain,detect\n"


def test_man_finds_a_page_for_each_command_beside_the_program(eddy: Path, tmp_path: Path) -> None:
    pages = {page.stem for page in (eddy.parent / "share" / "man" / "man1").iterdir()}
    listed = run(eddy / "eddy", "--help", cwd=tmp_path).partition("Commands:\n")[2]
    assert pages == {"eddy"} | {f"eddy-{name}" for name in re.findall(r"^  (\w+) ", listed, re.MULTILINE)}


def test_the_demo_runs_and_accounts_for_every_record(eddy: Path, tmp_path: Path) -> None:
    last = json.loads(run(eddy / "eddy", "demo", "--json", cwd=tmp_path).splitlines()[-1])
    assert last["records"] > 300
    assert last["lost"] == 0
    assert list(tmp_path.iterdir()) == []


def test_what_the_client_writes_is_judged(eddy: Path, client: Path, tmp_path: Path) -> None:
    run(client / "python", "-c", AGENT, cwd=tmp_path)
    assert "LOOP" in run(eddy / "eddy", "detect", "run.jsonl", cwd=tmp_path)


def test_the_client_has_the_version_of_eddy_and_its_hook_starts(client: Path, tmp_path: Path) -> None:
    code = "from eddy_client.version import installed_version as said; print(said())"
    assert run(client / "python", "-c", code, cwd=tmp_path).strip() == VERSION
    assert "usage" in run(client / "eddy-guard-hook", "--help", cwd=tmp_path)


#: The one package without a wheel for Arm that a worker runs with.
BUILT_THERE = "faust-streaming"
ARM = ("--platform", "manylinux2014_aarch64", "--platform", "manylinux_2_28_aarch64")


def test_every_other_package_has_a_wheel_for_arm(tmp_path: Path) -> None:
    pinned = [
        line
        for name in ("run", "demo")
        for line in (ROOT / "constraints" / f"{name}.txt").read_text().splitlines()
        if "==" in line and not line.startswith(("#", f"{BUILT_THERE}=="))
    ]
    (tmp_path / "pinned.txt").write_text("\n".join(pinned))
    run(
        *(sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--no-deps", "--ignore-installed"),
        *("--target", tmp_path / "arm", "--only-binary", ":all:", *ARM, "--python-version", "3.12"),
        *("--implementation", "cp", "--abi", "cp312", "--abi", "abi3", "--abi", "none"),
        *("-r", tmp_path / "pinned.txt"),
        cwd=tmp_path,
    )


def test_without_a_compiler_and_a_wheel_faust_is_plain_python_and_all_records_are_accounted_for(
    dist: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a machine with an Arm processor."""
    (wheel,) = dist.glob("eddy_streams-*.whl")
    (client,) = dist.glob("eddy_client-*.whl")
    for name in ("CC", "CXX"):
        monkeypatch.setenv(name, "/bin/false")
    beside = (str(client), "-c", str(ROOT / "constraints" / "demo.txt"), "--no-binary", BUILT_THERE)
    programs = environment(tmp_path / "venv", wheel, *beside, extra="[demo]")
    assert not list((tmp_path / "venv").rglob("faust/**/*.so"))
    last = json.loads(run(programs / "eddy", "demo", "--json", cwd=tmp_path).splitlines()[-1])
    assert last["records"] > 300
    assert last["lost"] == 0


INSTALLS = [line for line in GETTING_STARTED.lines() if line.split()[0] in {"uv", "pipx", "pip"}]


@pytest.mark.parametrize("line", INSTALLS, ids=lambda line: line.split()[0])
def test_one_line_of_the_documents_puts_eddy_on_the_path(
    line: str, checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    programs, where = Path(sys.executable).parent, tmp_path / ".local" / "bin"
    if line.startswith("pip "):  # in an environment of theirs
        run(sys.executable, "-m", "venv", where.parent, cwd=tmp_path)
        programs = where
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    run("bash", "-c", line, cwd=checkout)
    assert "LOOP" in run(where / "eddy", "detect", READ_LOOP, cwd=tmp_path)
    assert run("git", "status", "--porcelain", cwd=checkout) == ""


def test_the_readme_begins_with_such_a_line() -> None:
    assert next(README.lines()) in INSTALLS
    assert [line.split()[0] for line in INSTALLS] == ["uv", "pipx", "pip"]


@pytest.mark.usefixtures("dist")
def test_a_wheel_is_installed_as_the_page_for_those_who_deploy_says(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    lines = [line for line in DEPLOY.lines() if "/opt/eddy" in line]
    assert len(lines) == 3
    said = [
        run("bash", "-c", line.replace("/opt/eddy", str(tmp_path / "eddy")), cwd=checkout) for line in lines
    ]
    assert said[-1] == f"eddy, version {VERSION} (commit {commit_of(checkout)})\n"


def test_uvx_judges_a_log_and_leaves_nothing_installed(dist: Path, tmp_path: Path) -> None:
    (wheel,) = dist.glob("eddy_streams-*.whl")
    (client,) = dist.glob("eddy_client-*.whl")
    uvx = (Path(sys.executable).with_name("uvx"), "--with", client, "--from", wheel)
    assert "LOOP" in run(*uvx, "eddy", "detect", READ_LOOP, cwd=tmp_path)


@pytest.mark.usefixtures("dist")
def test_a_build_leaves_the_tree_as_it_was(checkout: Path) -> None:
    assert run("git", "status", "--porcelain", cwd=checkout) == ""

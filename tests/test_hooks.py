"""What runs before a commit is what `make lint` runs."""

import re

import yaml

from tests.pins import ROOT


def test_the_hooks_run_what_make_lint_runs_from_the_same_environment() -> None:
    recipe = re.search(r"^lint:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert recipe is not None
    lint = recipe[1].replace("\t", "").replace("$(BIN)", ".venv/bin").splitlines()
    [repository] = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    assert repository["repo"] == "local", "a repository of its own brings versions of its own"
    assert [hook["entry"] for hook in repository["hooks"]] == lint
    assert len(lint) == 4
    # All files, as in `make lint`: a change in one file can break another.
    assert {(hook["language"], hook["pass_filenames"]) for hook in repository["hooks"]} == {("system", False)}

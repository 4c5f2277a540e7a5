"""What `.ci/run` concludes from its steps, with steps that do nothing."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

ROOT = Path(__file__).parents[1]

TRUE = shutil.which("true")
#: What `timeout` ends with.
TIMED_OUT = 124
#: Where pytest keeps the names of the tests that failed.
FAILED = ".pytest_cache/v/cache/lastfailed"


def run_ci(
    directory: Path,
    *,
    fetched: int = 0,
    browser: int = 0,
    compiler: int = 0,
    rules: int = 0,
    servers: int = 0,
    provider: int = 0,
    described: int = 0,
    audited: int = 0,
    manifests: int = 0,
    debian: int = 0,
    cargo: bool = True,
    seconds: int = 0,
    strict: str | None = None,
    **recipes: str,
) -> subprocess.CompletedProcess[str]:
    """Run it where `make` follows the given recipes, and what is fetched ends with the given exit codes.

    Its clock, the variable SECONDS of bash, begins at the given number. CI_STRICT is as given, or not set.
    """
    shutil.copytree(ROOT / ".ci", directory / ".ci")
    steps = {"setup": "true", "lint": "true", "test": "true", "test-kafka": "true", "test-hostile": "true"}
    steps |= dict.fromkeys(
        (
            "test-browser",
            "test-kubernetes",
            "test-native",
            "test-notify",
            "test-openid",
            "test-release",
            "docs",
        ),
        "true",
    )
    steps |= dict.fromkeys(("test-home", "test-debian", "test-brokers"), "true")
    steps |= {name.replace("_", "-"): recipe for name, recipe in recipes.items()}
    makefile = "".join(f".PHONY: {name}\n{name}:\n\t@{recipe}\n" for name, recipe in steps.items())
    (directory / "Makefile").write_text(makefile)
    (directory / ".venv" / "bin").mkdir(parents=True)
    (directory / ".venv" / "bin" / "python").symlink_to(sys.executable)
    found = {
        "integration/kafka_jars": fetched,
        "browser/chromium": browser,
        "typescript": compiler,
        "asyncapi": described,
        "audit": audited,
        "kubernetes/tools": manifests,
        "deploy/promtool": rules,
        "notify/servers": servers,
        "browser/keycloak": provider,
        "debian_python": debian,
    }
    for module, status in found.items():
        fetch = directory / "tests" / f"{module}.py"
        fetch.parent.mkdir(parents=True, exist_ok=True)
        fetch.write_text(f"raise SystemExit({status})\n")
    folders = [folder for folder in os.get_exec_path() if not (Path(folder) / "cargo").exists()]
    if cargo:
        (directory / "bin").mkdir()
        (directory / "bin" / "cargo").symlink_to(TRUE)
        folders.insert(0, str(directory / "bin"))
    environment = {**os.environ, "PATH": os.pathsep.join(folders), "SECONDS": str(seconds)}
    environment.pop("CI_STRICT", None)
    if strict is not None:
        environment["CI_STRICT"] = strict
    return subprocess.run(
        [directory / ".ci" / "run"],
        cwd="/",
        env=environment,
        capture_output=True,
        text=True,
        timeout=170,
        check=False,
    )


def test_it_succeeds_when_every_step_does(tmp_path: Path) -> None:
    result = run_ci(tmp_path, test_kafka="echo kafka was tested")
    assert result.returncode == 0, result.stderr
    assert "kafka was tested" in result.stdout


@pytest.mark.parametrize(
    "step",
    [
        "setup",
        "lint",
        "test",
        "test_debian",
        "test_native",
        "docs",
        "test_release",
        "test_browser",
        "test_notify",
        "test_openid",
        "test_kafka",
        "test_hostile",
    ],
)
def test_it_fails_with_any_step(tmp_path: Path, step: str) -> None:
    assert run_ci(tmp_path, **{step: "false"}).returncode != 0


def test_it_goes_on_without_cargo_and_says_so(tmp_path: Path) -> None:
    result = run_ci(tmp_path, cargo=False, test_native="false")
    assert result.returncode == 0, result.stderr
    assert "THE NATIVE CORE WAS NOT TESTED" in result.stderr


def test_it_goes_on_without_the_python_of_debian_and_says_so(tmp_path: Path) -> None:
    result = run_ci(
        tmp_path,
        debian=os.EX_TEMPFAIL,
        test_debian="false",
        test_home="echo the full home was tested",
        test_kafka="echo kafka was tested",
    )
    assert result.returncode == 0, result.stderr
    assert "the full home was tested" in result.stdout
    assert "DEBIAN'S PYTHON CANNOT BE INSTALLED" in result.stderr
    assert "kafka was tested" in result.stdout


def test_without_the_python_of_debian_a_full_home_that_fails_is_a_failure(tmp_path: Path) -> None:
    assert run_ci(tmp_path, debian=os.EX_TEMPFAIL, test_home="false").returncode != 0


def test_packages_that_do_not_install_on_it_are_a_failure(tmp_path: Path) -> None:
    assert run_ci(tmp_path, debian=1).returncode == 1


def test_it_goes_on_without_maven_central_and_says_so(tmp_path: Path) -> None:
    result = run_ci(tmp_path, fetched=os.EX_TEMPFAIL, test_kafka="false", test_hostile="false")
    assert result.returncode == 0
    assert "NOTHING WAS TESTED ON APACHE KAFKA" in result.stderr


def test_it_goes_on_without_a_browser_and_says_so(tmp_path: Path) -> None:
    result = run_ci(
        tmp_path,
        browser=os.EX_TEMPFAIL,
        test_browser="false",
        test_openid="false",
        test_kafka="echo kafka was tested",
    )
    assert result.returncode == 0
    assert "NO PAGE WAS OPENED" in result.stderr
    assert "NOBODY LOGGED IN AT A REAL PROVIDER" in result.stderr
    assert "kafka was tested" in result.stdout


def test_it_goes_on_without_a_login_provider_and_says_so(tmp_path: Path) -> None:
    result = run_ci(
        tmp_path, provider=os.EX_TEMPFAIL, test_openid="false", test_kafka="echo kafka was tested"
    )
    assert result.returncode == 0
    assert "NOBODY LOGGED IN AT A REAL PROVIDER" in result.stderr
    assert "kafka was tested" in result.stdout


def test_it_goes_on_without_an_alertmanager_and_says_so(tmp_path: Path) -> None:
    result = run_ci(tmp_path, servers=os.EX_TEMPFAIL, test_notify="false", test_kafka="echo kafka was tested")
    assert result.returncode == 0
    assert "NO ALERT REACHED ONE" in result.stderr
    assert "kafka was tested" in result.stdout


def test_it_goes_on_without_a_compiler_and_says_so(tmp_path: Path) -> None:
    result = run_ci(tmp_path, compiler=os.EX_TEMPFAIL)
    assert result.returncode == 0
    assert "NO SCRIPT WAS CHECKED" in result.stderr


def test_it_goes_on_without_the_parser_of_asyncapi_and_says_so(tmp_path: Path) -> None:
    result = run_ci(tmp_path, described=os.EX_TEMPFAIL)
    assert result.returncode == 0
    assert "THE DOCUMENT OF THE TOPICS WAS NOT CHECKED" in result.stderr


def test_a_document_of_the_topics_that_is_wrong_is_a_failure(tmp_path: Path) -> None:
    assert run_ci(tmp_path, described=1).returncode == 1


def test_it_goes_on_without_reports_of_vulnerabilities_and_says_so(tmp_path: Path) -> None:
    result = run_ci(tmp_path, audited=os.EX_TEMPFAIL)
    assert result.returncode == 0
    assert "NO PACKAGE WAS AUDITED" in result.stderr


def test_a_known_vulnerability_is_a_failure(tmp_path: Path) -> None:
    assert run_ci(tmp_path, audited=1).returncode == 1


def test_it_goes_on_without_helm_and_says_so(tmp_path: Path) -> None:
    result = run_ci(tmp_path, manifests=os.EX_TEMPFAIL, test_kubernetes="false", test_kafka="echo tested")
    assert result.returncode == 0
    assert "NO MANIFEST WAS CHECKED" in result.stderr
    assert "tested" in result.stdout


def test_it_goes_on_without_prometheus_and_says_so(tmp_path: Path) -> None:
    result = run_ci(tmp_path, rules=os.EX_TEMPFAIL, test="echo the rest was tested")
    assert result.returncode == 0
    assert "NO RULE AND NO DASHBOARD WAS TRIED" in result.stderr
    assert "the rest was tested" in result.stdout


@pytest.mark.parametrize(
    "found",
    [
        "fetched",
        "browser",
        "compiler",
        "rules",
        "servers",
        "provider",
        "described",
        "audited",
        "manifests",
        "debian",
    ],
)
def test_what_does_not_arrive_in_time_is_missing_like_what_is_not_there(tmp_path: Path, found: str) -> None:
    result = run_ci(tmp_path, **{found: TIMED_OUT})
    assert result.returncode == 0, result.stderr
    assert "## " in result.stderr


def test_a_script_of_wrong_types_is_a_failure(tmp_path: Path) -> None:
    assert run_ci(tmp_path, compiler=2).returncode == 2


def test_any_other_failure_to_fetch_is_a_failure(tmp_path: Path) -> None:
    assert run_ci(tmp_path, fetched=1).returncode == 1


def test_any_other_failure_to_find_a_browser_is_a_failure(tmp_path: Path) -> None:
    assert run_ci(tmp_path, browser=1).returncode == 1


def test_a_step_for_which_no_time_is_left_is_a_failure_that_is_named(tmp_path: Path) -> None:
    """All steps share one clock: what one leaves, the next may use."""
    script = (ROOT / ".ci" / "run").read_text()
    (total,) = re.findall(r"^TOTAL=\$\(\((\d+) \* 60\)\)", script, re.MULTILINE)
    assert int(total) <= 88, "CI has 90 minutes; two are for what lies between the steps."
    result = run_ci(tmp_path, seconds=int(total) * 60)
    assert result.returncode != 0
    assert "no time is left for: make setup" in result.stderr


def test_with_little_time_left_kafka_gets_what_depends_on_the_broker_and_that_is_said(tmp_path: Path) -> None:
    late = {"seconds": 50 * 60, "test_kafka": "echo all", "test_hostile": "echo hostile"}
    result = run_ci(tmp_path / "fine", **late, test_brokers="echo brokers")
    assert result.returncode == 0, result.stderr
    assert [line for line in result.stdout.splitlines() if line in {"all", "brokers", "hostile"}] == [
        "brokers",
        "hostile",
    ]
    assert "LITTLE TIME IS LEFT" in result.stderr
    assert run_ci(tmp_path / "broken", **late, test_brokers="false").returncode != 0
    later = run_ci(tmp_path / "later", **{**late, "seconds": 70 * 60}, test_brokers="false")
    assert later.returncode == 0, later.stderr
    assert "NOTHING WAS TESTED ON APACHE KAFKA" in later.stderr


def failing(*tests: str, then: str) -> str:
    """Return a recipe that leaves behind that these have failed, and does something else when run again."""
    names = json.dumps(dict.fromkeys(tests, True))
    note = f"mkdir -p .pytest_cache/v/cache && echo '{names}' >{FAILED}"
    return f"case '$(ARGS)' in *last-failed*) {then} ;; *) {note}; false ;; esac"


def listed(result: subprocess.CompletedProcess[str]) -> list[str]:
    """Return the list of the tests that failed on the first try, with what became of them."""
    _, _, after = result.stderr.partition("ci: failed on the first try:\n")
    return [line.removeprefix("ci:").strip() for line in after.splitlines()]


def flaky_of(result: subprocess.CompletedProcess[str]) -> list[str]:
    """Return the tests that are listed as flaky."""
    return re.findall(r"^ci: FLAKY: (.*)$", result.stderr, re.MULTILINE)


def test_an_integration_test_that_passes_alone_is_listed_last_and_is_no_failure(tmp_path: Path) -> None:
    flaky = "tests/integration/test_a.py::test_b[c d]"
    result = run_ci(
        tmp_path, test=failing(flaky, then="echo alone: '$(ARGS)'"), test_hostile="echo hostile >&2"
    )
    assert "alone: -n 0" in result.stdout
    assert result.returncode == 0, result.stderr
    *_, last = result.stderr.splitlines()
    assert last == f"ci: FLAKY: {flaky}"
    assert result.stderr.index("hostile") < result.stderr.index("## FLAKY: 1 FAILED"), "at the very end"
    assert "failed on the first try" not in result.stderr


@pytest.mark.parametrize(("strict", "status"), [("1", 1), ("0", 0), ("", 0)])
def test_it_is_a_failure_for_those_who_want_it_so(tmp_path: Path, strict: str, status: int) -> None:
    flaky = "tests/integration/test_a.py::test_b"
    result = run_ci(tmp_path, strict=strict, test=failing(flaky, then="true"), test_hostile="echo hostile")
    assert result.returncode == status, result.stderr
    assert "hostile" in result.stdout, "what follows runs all the same"
    assert flaky_of(result) == [flaky]


def test_without_a_flaky_test_strictness_changes_nothing(tmp_path: Path) -> None:
    result = run_ci(tmp_path, strict="1")
    assert result.returncode == 0, result.stderr
    assert "FLAKY" not in result.stderr


def test_the_steps_after_a_flaky_test_run_and_one_list_names_all(tmp_path: Path) -> None:
    first, second = "tests/integration/test_a.py::test_b", "tests/integration/test_c.py::test_d"
    result = run_ci(
        tmp_path,
        test=failing(first, then="true"),
        test_kafka=failing(second, then="true"),
        test_hostile="echo hostile records were sent",
    )
    assert result.returncode == 0, result.stderr
    assert "hostile records were sent" in result.stdout
    assert flaky_of(result) == [first, second]


def test_a_flaky_test_is_listed_also_if_a_later_step_fails(tmp_path: Path) -> None:
    flaky = "tests/integration/test_a.py::test_b"
    result = run_ci(tmp_path, test=failing(flaky, then="true"), test_hostile="false")
    assert result.returncode != 0
    assert flaky_of(result) == [flaky]


@pytest.mark.parametrize("step", ["test", "test_kafka"])
def test_an_integration_test_that_fails_alone_too_ends_the_run(tmp_path: Path, step: str) -> None:
    broken = "tests/integration/test_a.py::test_b"
    result = run_ci(tmp_path, **{step: failing(broken, then="false")}, test_hostile="echo hostile")
    assert result.returncode != 0
    assert "hostile" not in result.stdout
    assert listed(result) == [f"{broken} (failed again)"]


@pytest.mark.parametrize(
    "failed",
    [
        [],
        ["tests/unit/test_a.py::test_b"],
        ["tests/integration/test_a.py::test_b", "tests/test_docs.py::test_c"],
        ["tests/integration/test_a.py"],
        [f"tests/integration/test_a.py::test_{number}" for number in range(4)],
    ],
    ids=["none", "a unit test", "one of each", "a whole module", "many"],
)
def test_nothing_else_is_tried_again(tmp_path: Path, failed: list[str]) -> None:
    result = run_ci(tmp_path, test=failing(*failed, then="echo again"))
    assert result.returncode != 0
    assert "again" not in result.stdout
    assert listed(result) == [f"{name} (no second try)" for name in sorted(failed)]


def test_a_step_without_a_list_of_what_failed_is_a_failure(tmp_path: Path) -> None:
    stale = tmp_path / FAILED
    stale.parent.mkdir(parents=True)
    stale.write_text('{"tests/integration/test_a.py::test_b": true}')
    assert run_ci(tmp_path, test="case '$(ARGS)' in *last-failed*) true ;; *) false ;; esac").returncode != 0


def test_a_process_left_behind_is_a_failure_and_is_ended(tmp_path: Path) -> None:
    result = run_ci(tmp_path, test="(setsid sleep 58 </dev/null >/dev/null 2>&1 & echo $$! >left)")
    left = int((tmp_path / "left").read_text())
    assert result.returncode == 1
    assert f"left running: {left}" in " ".join(result.stderr.split())
    assert not runs(left)


def runs(process: int) -> bool:
    try:
        return psutil.Process(process).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False

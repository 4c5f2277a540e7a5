"""Every line at a prompt in README, getting started and deploy: typed here, or by a test that is named."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml

from streams.core.domain.record import Outgoing
from streams.formats.recordings.catalogue import RECORDINGS
from tests.integration.brokers import Broker
from tests.integration.receiver import Receiver
from tests.integration.shell import Shell
from tests.integration.stage import Stage
from tests.integration.worker_process import PATIENCE_SECONDS
from tests.pages import DEPLOY, GETTING_STARTED, README, ROOT
from tests.ports import own_port

pytestmark = pytest.mark.integration

_POLL_SECONDS = 0.2
UNKNOWN_SCHEMA = b"\0\xff\xff\xff\xff-"
CLAUDE_CODE = ROOT / "tests" / "samples" / "claude_code" / "loop.jsonl"
LABELLED = "".join(
    f"{json.dumps(line)}\n"
    for line in [
        *(
            {
                "session_id": "made-up::1",
                "agent_id": "a",
                "seq": seq,
                "intent": "look",
                "tool_call": "grep",
                "arguments": "main",
                "action_status": "failure",
                "result": "no such file",
            }
            for seq in range(4)
        ),
        {
            "session_id": "made-up::1",
            "label_source": "human",
            "action_action": ["Repetition"] * 3,
        },
    ]
)


class Step(NamedTuple):
    """A line of a page, and what it says once it has done what the page says."""

    line: str
    says: str = ""
    stays: bool = False
    """It runs until Ctrl-C, in a terminal of its own."""
    again: bool = False
    """What it asks for takes a moment: typed until it says so."""
    status: int = 0
    proof: str = ""
    """Typed after it: what shows that it has worked."""


ON_KAFKA = (
    Step("export EDDY_BOOTSTRAP_SERVERS=kafka-1:9092,kafka-2:9092"),
    Step("eddy topics apply --partitions 24", "+ create decision-logs: 24 partitions"),
)
WITH_TOPICS = (
    Step("eddy worker --data-dir /var/lib/eddy", "Ready.", stays=True),
    Step("eddy bridge otlp --data-dir /var/lib/eddy-bridge", "Ready.", stays=True),
    Step("eddy notify test", "delivered"),
    Step("eddy notify", "are sent from offset 0 on", stays=True),
    Step(
        'eddy config set entropy_window_size=8 alert_every_record=false --why "fewer pages"',
        "Settings version 1 is published.",
    ),
    Step("eddy dlq list --reason unknown_schema", "1 dead letter", again=True),
    # Nobody has registered the schema, so the cause is not gone.
    Step("eddy dlq redrive --reason unknown_schema --dry-run", "1 would come back", status=1),
    Step("eddy doctor", "0 fail"),
)
BY_HAND = (
    Step("eddy broker", "Ctrl-C ends it.", stays=True),
    Step("export EDDY_BOOTSTRAP_SERVERS=127.0.0.1:9092 EDDY_REPLICAS=1 EDDY_PRODUCER_IDEMPOTENCE=false"),
    Step("eddy worker", "Ready.", stays=True),
    Step("""echo '{"session_id": "s-1", "action": {"tool_call": "search"}}' > call.jsonl"""),
    Step("eddy send call.jsonl --times 6", "6 records sent: decision-logs["),
    Step("eddy explain s-1 --topic", "The session is considered looping", again=True),
)
ON_FILES = (
    Step("eddy detect", "1 of 1 session went in circles"),
    Step("eddy detect streams/formats/recordings/read_loop.jsonl", "read config/billing.yaml once more"),
    Step("eddy detect my-agent.jsonl", "▲ s-17"),
    Step("eddy console my-agent.jsonl --open", "Ctrl-C ends the console.", stays=True),
    Step("eddy explain s-17 my-agent.jsonl", "The session is considered looping"),
    Step("eddy backtest --a strict.json my-agent.jsonl", "repeat_thresholds"),
    Step("eddy evaluate labelled.jsonl", "episode-loop"),
    Step("eddy ingest --follow --judge", "loop_episode", stays=True),
    Step("eddy top --follow", "1 log of claude-code", stays=True),
    Step("eddy watch", "no hook has asked yet", stays=True),
    Step("source <(eddy completion bash)", "_eddy_completion", proof="complete -p eddy"),
    Step("eddy topics export --strimzi --cluster kafka --partitions 24 > eddy-topics.yaml"),
    Step("eddy topics export --terraform --partitions 24 > eddy.tf.json"),
)
DEMOS = (
    Step("eddy demo", "0 records unaccounted for"),
    Step("eddy demo --input my-agent.jsonl", "0 records unaccounted for"),
)

_RELEASE = "tests/release/test_distributions.py"
_SIGNED = f"{_RELEASE}::test_what_is_signed_can_be_verified_as_the_documents_say_and_a_changed_wheel_is_found"
_WHEEL = f"{_RELEASE}::test_a_wheel_is_installed_as_the_page_for_those_who_deploy_says"
_CLUSTER = (
    "tests/kubernetes/test_cluster.py"
    "::test_the_commands_of_the_page_work_in_an_empty_cluster_and_again_for_an_upgrade"
)
_IMAGE = (
    "tests/containers/test_signed_image.py::test_the_lines_of_the_page_verify_it_its_parts_and_its_commit"
)
#: By the first words of a line: the test that runs it, or nothing, and then the page says that nobody has.
ELSEWHERE = {
    "uv tool install": f"{_RELEASE}::test_one_line_of_the_documents_puts_eddy_on_the_path",
    "pipx install": f"{_RELEASE}::test_one_line_of_the_documents_puts_eddy_on_the_path",
    "pip install": f"{_RELEASE}::test_one_line_of_the_documents_puts_eddy_on_the_path",
    "python3 -m venv /opt/eddy": _WHEEL,
    "/opt/eddy/bin/": _WHEEL,
    "ssh-keygen -Y verify": _SIGNED,
    "sha256sum --check": _SIGNED,
    "cosign generate-key-pair": _IMAGE,
    "cosign signing-config create": _IMAGE,
    "cosign verify ": _IMAGE,
    "cosign verify-attestation ": _IMAGE,
    "podman push --digestfile": _IMAGE,
    'COSIGN_FLAGS="--signing-config none.json" make sign-image': _IMAGE,
    "kubectl create namespace eddy": _CLUSTER,
    "kubectl apply -k deploy/kubernetes/example": _CLUSTER,
    "kubectl delete job --namespace eddy": _CLUSTER,
    "helm install eddy deploy/helm/eddy": _CLUSTER,
    "docker buildx build --platform": "",
}


def test_each_line_of_the_pages_is_typed_here_or_where_it_says() -> None:
    typed = {step.line for steps in (ON_KAFKA, WITH_TOPICS, BY_HAND, ON_FILES, DEMOS) for step in steps}
    lines = {line for page in (README, GETTING_STARTED, DEPLOY) for line in page.lines()}
    assert typed <= lines
    others = {line: [start for start in ELSEWHERE if line.startswith(start)] for line in lines - typed}
    assert [line for line, starts in others.items() if len(starts) != 1] == []
    assert {start for starts in others.values() for start in starts} == set(ELSEWHERE)
    for test in filter(None, ELSEWHERE.values()):
        path, name = test.split("::")
        assert f"def {name}(" in (ROOT / path).read_text(), test
    assert list(ELSEWHERE.values()).count("") == DEPLOY.text.count("also not tried")


class Person:
    """Somebody with Eddy on the PATH and a folder of their own.

    Args:
        folder: An empty one.
        environment: What is set before the first line.
        instead: What is typed for names of the pages.
    """

    def __init__(self, folder: Path, environment: Mapping[str, object], instead: Mapping[str, str]) -> None:
        self.folder = folder / "folder"
        (home := folder / "home").mkdir()
        self.folder.mkdir()
        # The page's console would open a browser.
        (browser := folder / "browser").write_text(f'#!/bin/sh\necho "$1" > {folder}/opened\n')
        browser.chmod(0o755)
        self.opened = folder / "opened"
        self._environment = {
            **{name: os.environ[name] for name in ("LANG", "PYTHONPATH") if name in os.environ},
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "HOME": str(home),
            "BROWSER": str(browser),
            "EDDY_WEB_PORT": "0",
            "EDDY_CONSOLE_PORT": "0",
            **{name: str(value) for name, value in environment.items()},
        }
        self._instead = {"/var/lib/": f"{folder}/lib-", **instead}
        self._exports: list[str] = []
        self._shells: list[Shell] = []
        self._staying: list[Shell] = []
        self.home = home

    async def follows(self, steps: Sequence[Step]) -> None:
        """Type the lines in order, each that stays in a terminal of its own."""
        shell = await self._terminal()
        for step in steps:
            if step.line.startswith("export "):
                self._exports.append(step.line)
            if step.stays:
                await self._starts(step)
            else:
                await self._done(step, shell)

    async def _done(self, step: Step, shell: Shell) -> None:
        status, said = await shell.types(step.line)
        deadline = time.monotonic() + PATIENCE_SECONDS
        while step.again and step.says not in said and time.monotonic() < deadline:
            await asyncio.sleep(_POLL_SECONDS)
            status, said = await shell.types(step.line)
        assert status == step.status, said
        if step.proof:
            _, said = await shell.types(step.proof)
        assert step.says in said, said

    async def _starts(self, step: Step) -> None:
        staying = await self._terminal()
        await staying.starts(step.line, step.says)
        self._staying.append(staying)

    async def _terminal(self) -> Shell:
        shell = Shell(self._environment, self.folder, self._instead)
        self._shells.append(shell)
        for line in self._exports:
            assert (await shell.types(line))[0] == 0
        return shell

    async def leaves(self) -> list[int]:
        """Press Ctrl-C wherever something still runs, the newest first; return how each ended."""
        return [await shell.interrupts() for shell in reversed(self._staying)]

    def close(self) -> None:
        """End all that still runs."""
        for shell in self._shells:
            shell.close()


async def test_the_lines_for_your_kafka_from_topics_to_dead_letters(
    stage_broker: Broker, receiver: Receiver, tmp_path: Path
) -> None:
    given = {
        "EDDY_REPLICAS": 1,
        "EDDY_PRODUCER_IDEMPOTENCE": stage_broker.kind == "kafka",
        "EDDY_NOTIFY_WEBHOOK_URL": f"{receiver.url}/alerts",
        "EDDY_NOTIFY_WEBHOOK_SECRET": f"whsec_{base64.b64encode(bytes(32)).decode()}",
    }
    person = Person(tmp_path, given, {"kafka-1:9092,kafka-2:9092": stage_broker.bootstrap})
    try:
        await person.follows(ON_KAFKA)
        stage = Stage(stage_broker, tmp_path / "stage", application_id="eddy", partitions=24)
        await stage.send([(0, Outgoing(b"s-9", UNKNOWN_SCHEMA, -1))])
        await person.follows(WITH_TOPICS)
        assert await person.leaves() == [0, 0, 0]
    finally:
        person.close()
    assert len(receiver.got) == 2  # a loop and its end


@pytest.mark.any_broker
async def test_the_lines_for_a_broker_and_a_loop_of_ones_own(tmp_path: Path) -> None:
    address = f"127.0.0.1:{(port := own_port())}"
    person = Person(tmp_path, {}, {"127.0.0.1:9092": address, "eddy broker": f"eddy broker --port {port}"})
    try:
        await person.follows(BY_HAND)
        assert await person.leaves() == [0, 0]
    finally:
        person.close()


@pytest.mark.any_broker
async def test_the_lines_for_files_and_for_what_is_written_into_them(tmp_path: Path) -> None:
    person = Person(tmp_path, {}, {})
    (recording,) = (each for each in RECORDINGS if each.name == "read_loop")
    where = person.folder / "streams" / "formats" / "recordings"
    where.mkdir(parents=True)
    shutil.copy(recording.path, where)
    mine = [json.loads(line) | {"session_id": "s-17"} for line in recording.path.read_text().splitlines()]
    (person.folder / "my-agent.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in mine))
    tool = {"tool": 2, "llm": 5, "system": 999, "default": 999}
    (person.folder / "strict.json").write_text(json.dumps({"repeat_thresholds": tool}))
    (person.folder / "labelled.jsonl").write_text(LABELLED)
    (logs := person.home / ".claude" / "projects" / "p").mkdir(parents=True)
    shutil.copy(CLAUDE_CODE, logs / "60a3a234-959c-4117-a460-46f4b3ac184b.jsonl")
    try:
        await person.follows(ON_FILES)
        assert await person.leaves() == [0, 0, 0, 0]
    finally:
        person.close()
    assert person.opened.read_text().startswith("http://127.0.0.1:")
    topics = list(yaml.safe_load_all((person.folder / "eddy-topics.yaml").read_text()))
    assert {each["kind"] for each in topics} >= {"KafkaTopic", "KafkaUser"}
    assert "resource" in json.loads((person.folder / "eddy.tf.json").read_text())


@pytest.mark.any_broker
async def test_the_lines_for_a_demo(tmp_path: Path) -> None:
    person = Person(tmp_path, {}, {})
    (recording,) = (each for each in RECORDINGS if each.name == "read_loop")
    shutil.copy(recording.path, person.folder / "my-agent.jsonl")
    try:
        await person.follows(DEMOS)
    finally:
        person.close()

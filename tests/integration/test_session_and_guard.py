"""A shell and a guarded agent: what the person is told is what the agent does."""

import threading
import time
from collections.abc import Iterator

import pytest
from click.testing import CliRunner
from eddy_client import Guard, SessionAborted

from streams.cli import main
from streams.cli.command_group import PROBLEM_FOUND
from tests.integration.brokers import Broker
from tests.integration.worker_process import PATIENCE_SECONDS

pytestmark = pytest.mark.integration

OLD, NEW = "the key before this one", "a key of sixteen characters"


class Agent(threading.Thread):
    """A loop under a guard that knows both keys."""

    def __init__(self, broker: Broker) -> None:
        super().__init__(daemon=True)
        options = {"enable.idempotence": str(broker.kind == "kafka").lower()}
        self._guard = Guard.kafka(
            broker.bootstrap, key=[OLD, NEW], kafka=options, start_wait=PATIENCE_SECONDS
        )
        self._enough = threading.Event()
        self.began = threading.Event()
        self.steps = 0
        self.notes: list[str] = []
        self.aborted: str | None = None

    def run(self) -> None:
        with self._guard.session("s-17", agent_id="coder-7") as session:
            try:
                while not self._enough.wait(0.01):
                    self.notes += [note.text for note in session.check()]
                    self.steps += 1
                    self.began.set()
            except SessionAborted as aborted:
                self.aborted = aborted.reason

    def close(self) -> None:
        self._enough.set()
        self._guard.close(PATIENCE_SECONDS)


class Shell:
    """A person at a shell."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    def eddy(self, *words: str, status: int = 0, **environment: str) -> str:
        runner = CliRunner(env={"EDDY_COMMAND_KEY": NEW, **environment})
        result = runner.invoke(main, [*words, "--bootstrap-servers", self._broker.bootstrap])
        assert result.exit_code == status, result.output
        return result.stdout

    def asks(self, *words: str, status: int = 0, **environment: str) -> str:
        """Issue a command, wait for the agent's guard, and return the last line."""
        options = ["--why", "it loops", "--wait", str(PATIENCE_SECONDS)]
        text = self.eddy("session", *words, *options, status=status, **environment)
        return text.splitlines()[-1]

    def until_shown(self, part: str) -> None:
        """Read what was commanded and answered until it says something."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while part not in self.eddy("session", "commands", "s-17"):
            assert time.monotonic() < deadline, part


@pytest.fixture
def shell(stage_broker: Broker) -> Shell:
    shell = Shell(stage_broker)
    shell.eddy("topics", "apply", "--partitions", "4", "--replicas", "1")
    return shell


@pytest.fixture
def agent(shell: Shell, stage_broker: Broker) -> Iterator[Agent]:
    agent = Agent(stage_broker)
    agent.start()
    try:
        assert agent.began.wait(PATIENCE_SECONDS)
        shell.until_shown("last heard of")
        yield agent
    finally:
        agent.close()


def test_a_shell_says_what_the_agent_does(shell: Shell, agent: Agent) -> None:
    assert "the agent is paused (" in shell.asks("pause", "s-17")
    steps = agent.steps
    note = ["session", "note", "s-17", "--why", "lost", "--message", "Read the log.", "--wait", "0"]
    shell.eddy(*note)
    shell.until_shown("it takes effect before the next step")
    assert agent.steps == steps
    assert agent.notes == []
    assert "the agent runs (" in shell.asks("resume", "s-17")
    assert "the agent has the new budget (" in shell.asks("budget", "s-17", "--steps", "90")
    assert agent.notes == ["Read the log."]
    assert "the agent is paused (" in shell.asks("pause", "--agent", "coder-7")
    assert "the agent runs (" in shell.asks("resume", "--agent", "coder-7")
    assert "the agent was told to end (" in shell.asks("abort", "s-17", EDDY_COMMAND_KEY=OLD)
    agent.join(PATIENCE_SECONDS)
    assert agent.aborted == "it loops"


def test_a_shell_says_why_a_guard_refuses(shell: Shell, agent: Agent) -> None:
    unsigned = shell.asks("pause", "s-17", status=PROBLEM_FOUND, EDDY_COMMAND_KEY="")
    assert "refused" in unsigned
    assert ": it is not signed Is EDDY_COMMAND_KEY here the key of the guard?" in unsigned
    other = shell.asks("abort", "s-17", status=PROBLEM_FOUND, EDDY_COMMAND_KEY="some other key of a stranger")
    assert ": it is signed with another key Is EDDY_COMMAND_KEY" in other
    assert agent.aborted is None

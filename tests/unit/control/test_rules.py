"""What a command must be before it is published."""

from __future__ import annotations

import pytest
from eddy_client.protocol import MINUTE_MS, Action, OnTimeout, Scope

from streams.control.command import Command, Issuer, IssuerKind
from streams.control.rules import checked
from streams.core.errors import ConfigurationError
from tests.unit.control.samples import NOW, note, pause

POLICY = Issuer(kind=IssuerKind.POLICY, name="pause-costly-loops")
DAY = 24 * 60 * MINUTE_MS


def budget(**budgets: int) -> Command:
    return pause(action=Action.RAISE_BUDGET, on_timeout=None, **budgets)


@pytest.mark.parametrize(
    "command",
    [
        pause(),
        pause(on_timeout=OnTimeout.ABORT),
        pause(expires_at=NOW + DAY),
        pause(expires_at=NOW + 1),
        pause(action=Action.RESUME, on_timeout=None),
        pause(action=Action.ABORT, on_timeout=None),
        pause(agent_id="coder-7"),
        pause(reason="x" * 1_000),
        note("x" * 4_000),
        budget(steps_budget=1),
        budget(tokens_budget=2**63 - 1, steps_budget=100),
        pause(scope=Scope.AGENT, session_id=None, agent_id="coder-7"),
        pause(scope=Scope.ALL, session_id=None),
        pause(scope=Scope.ALL, session_id=None, action=Action.RESUME, on_timeout=None),
        pause(issuer=POLICY),
    ],
)
def test_a_command_that_keeps_the_rules_goes_out_as_it_is(command: Command) -> None:
    assert checked(command) is command


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (pause(session_id=None), "Name the session"),
        (pause(session_id="  "), "Name the session"),
        (pause(session_id="x" * 1_001), "a session of 1,001 characters: 1,000 are possible"),
        (pause(scope="cluster"), "one of the scopes session, agent, all"),
        (pause(scope=Scope.AGENT, session_id=None), "Name the agent"),
        (pause(scope=Scope.AGENT, agent_id="coder-7"), "A hold names no session"),
        (pause(scope=Scope.ALL), "A hold names no session"),
        (pause(scope=Scope.ALL, session_id=None, agent_id="coder-7"), "names none"),
        (
            pause(scope=Scope.ALL, session_id=None, action=Action.ABORT, on_timeout=None),
            "only pause and resume",
        ),
        (pause(action="stop", on_timeout=None), "one of the actions pause, resume, abort"),
        (pause(command_id=""), "needs a command_id"),
        (pause(reason=" "), "Say why"),
        (pause(reason="x" * 1_001), "a reason of 1,001 characters"),
        (pause(expires_at=NOW), "within 24 hours, and not at once"),
        (pause(expires_at=NOW + DAY + 1), "within 24 hours"),
        (pause(issued_at=-1, expires_at=5), "before 1970"),
        (pause(on_timeout=None), "what happens when the pause ends: resume or abort"),
        (pause(on_timeout="explode"), "what happens when the pause ends"),
        (pause(action=Action.ABORT), "Only a pause has something to happen"),
        (note(""), "what it shall read"),
        (note("x" * 4_001), "a message of 4,001 characters"),
        (pause(message="stop"), "Only inject_message has a message"),
        (budget(), "the new total of steps, of tokens, or of both"),
        (budget(steps_budget=0), "a total of 1 or more"),
        (budget(tokens_budget=2**63), "a total of 1 or more"),
        (pause(steps_budget=5), "Only raise_budget has budgets"),
        (pause(issuer=Issuer(kind="robot", name="r")), "issuer must be one of operator, policy, cli"),
        (pause(issuer=POLICY, on_timeout=OnTimeout.ABORT), "A pause of a policy cannot end with an abort"),
        (pause(issuer=POLICY, scope=Scope.ALL, session_id=None), "A policy cannot hold"),
        (pause(session_id="\ud800"), "no valid Unicode"),
        (pause(reason="\udc80"), "no valid Unicode"),
    ],
)
def test_a_command_that_breaks_a_rule_is_not_sent_and_says_which(command: Command, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said) as caught:
        checked(command)
    assert str(caught.value).startswith("The command is not sent.")


def test_all_that_is_wrong_is_said_at_once() -> None:
    with pytest.raises(ConfigurationError, match=r"Name the session.*Say why"):
        checked(pause(session_id=None, reason=""))

"""What one record adds across sessions: under a key nobody else has, and only what adds up to something."""

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.core.domain.aggregates.contribution import Changes, Contribution, agent_key, subject, tool_key

NAMES = st.one_of(
    st.text(max_size=9), st.builds("{}{}".format, st.sampled_from(["tool/", "agent/"]), st.text(max_size=9))
)


@given(NAMES, NAMES)
def test_no_two_subjects_have_one_key(one: str, other: str) -> None:
    assert agent_key(one) != tool_key(other)
    assert (agent_key(one) == agent_key(other)) == (one == other)
    assert subject(agent_key(one)) == ("agent", one)
    assert subject(tool_key(one)) == ("tool", one)


def test_an_agent_is_found_under_its_id() -> None:
    assert agent_key("planner") == "planner"


def test_what_is_taken_out_and_put_in_again_is_not_sent() -> None:
    changes = Changes()
    assert not changes
    changes.add("a", "sessions", 3)
    changes.add("a", "sessions", 3, -1)
    changes.chain("a", "digest", 3, 1)
    changes.chain("a", "digest", 3, -1)
    assert changes.contributions(0, 7, 900) == ()


def test_a_record_sends_one_contribution_for_each_key() -> None:
    changes = Changes()
    changes.add("a", "sessions", 3, -1)
    changes.add("a", "sessions", 4)
    changes.add("a", "tokens", 4, 250)
    changes.chain("b", "digest", 4, 1)
    assert changes.contributions(2, 7, 900) == (
        Contribution("a", 2, 7, 900, {"sessions": {3: -1, 4: 1}, "tokens": {4: 250}}, {}),
        Contribution("b", 2, 7, 900, {}, {4: {"digest": 1}}),
    )


def test_a_contribution_is_read_back_from_json_as_it_was() -> None:
    sent = Contribution("a", 2, 7, 900, {"sessions": {3: -1, 4: 1}, "cost": {4: 7}}, {4: {"x": 1, "y": -1}})
    assert Contribution.restore("a", orjson.loads(orjson.dumps(sent.snapshot()))) == sent


@pytest.mark.parametrize(
    "snapshot", [[], [0, 1, 2, [], [], []], [0, 1, 2, [["secrets", 3, 1]], []], [0, 1, 2, [["tokens"]], []]]
)
def test_what_is_no_contribution_is_refused(snapshot: list[object]) -> None:
    with pytest.raises(ValueError):
        Contribution.restore("a", snapshot)

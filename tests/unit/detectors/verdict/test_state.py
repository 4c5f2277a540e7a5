"""What a session costs to keep, and what is never kept."""

from typing import Any

import orjson

from streams.detectors.settings import DEFAULTS
from streams.detectors.verdict.detector import Verdict
from streams.detectors.verdict.moments import moment_back
from streams.detectors.verdict.state import VerdictState
from streams.domain.decision import Decision
from tests.unit.detectors.verdict.sequences import call, failing, spread

TOOLS = ("read_file", "search", "list_dir", "run_query")
DELTA = {"tokens_consumed": 1234, "cumulative_session_cost": 0.4321}


def after(values: list[dict[str, Any]]) -> VerdictState:
    detector, state = Verdict(), Verdict().fresh()
    for offset, value in enumerate(spread(values), 120_000):
        observation = detector.observe(state, Decision.of(0, offset, value), {}, DEFAULTS)
        assert observation is not None
        state = observation[0]
    return state


def size(values: list[dict[str, Any]]) -> int:
    return len(orjson.dumps([*after(values)]))


def healthy(number: int) -> dict[str, Any]:
    result = " ".join(f"word{number}{at}" for at in range(25))
    path = f'{{"path": "src/app/module_{number}.py", "limit": {number}}}'
    return call(path, result, tool=TOOLS[number % len(TOOLS)], delta=DELTA)


def test_a_healthy_session_takes_little_more_than_a_kilobyte() -> None:
    assert size([healthy(number) for number in range(100)]) < 1200


def test_a_looping_session_takes_less() -> None:
    assert size([failing(delta=DELTA)] * 100) < 1100


def test_no_text_of_a_record_is_kept_but_the_names_of_tools() -> None:
    secret = "hunter2"
    values = [
        call(f'{{"password": "{secret}{n}"}}', f"the password was {secret} {n}", content_hash=secret * 9)
        for n in range(6)
    ]
    values += [failing(f"{secret} was refused", f"{secret}{n}") for n in range(8)]
    stored = orjson.dumps([*after(values)]).decode()
    assert secret not in stored
    assert "get_user" in orjson.dumps([*after(values[:3])]).decode()


def test_names_of_tools_are_bounded() -> None:
    values = [failing(tool="t" * 9000 + str(number % 3)) for number in range(40)]
    assert size(values) < 20_000


def as_before_r7(state: VerdictState) -> list[Any]:
    """The list that was stored before there was R7: signatures instead of what the records did."""
    records = range(len(state.tools))
    moments = [moment_back(state.moments, back) for back in reversed(records)]
    earlier = state._replace(past="aaaaaaaaaa,,bbbbbbbbbb,")
    stored: list[Any] = orjson.loads(orjson.dumps([*earlier]))
    stored[VerdictState._fields.index("signatures")] = state.newest_signatures(len(records))
    stored[VerdictState._fields.index("moments")] = orjson.loads(orjson.dumps(moments))
    return stored[:21]


def test_a_run_from_before_r7_goes_on_and_the_score_begins() -> None:
    detector, last = Verdict(), spread([failing()] * 3)[-1]
    for stored in (as_before_r7(after([failing()] * 2)), as_before_r7(after([failing()] * 2))[:20]):
        state, block, _ = detector.observe(
            detector.restore(stored), Decision.of(0, 120_002, last), {}, DEFAULTS
        )
        assert (block["run"], block["level"]) == (3, "LOOP")
        assert block["stuck"] == {"score": 0.0, "kind": "new_error", "points": -0.5, "refers_to": None}
        *_, block, _ = detector.observe(state, Decision.of(0, 120_003, last), {}, DEFAULTS)
        assert block["stuck"] == {"score": 2.0, "kind": "again", "points": 2.0, "refers_to": 120_002}


def test_a_state_from_before_rounds_were_known_is_read() -> None:
    state = after([healthy(number) for number in range(3)])
    assert Verdict().restore([*state][:-1]) == state

"""What a session costs to keep, what is never kept, and what is kept of the states of earlier versions."""

from typing import Any

import orjson
import pytest

from streams.core.detectors.settings import DEFAULTS
from streams.core.detectors.verdict.detector import Verdict
from streams.core.detectors.verdict.state import VerdictState
from streams.core.domain.decision import Decision
from tests.unit.core.detectors.verdict.sequences import at, by_person, call, failing, in_rounds, spread

TOOLS = ("read_file", "search", "list_dir", "run_query")
DELTA = {"tokens_consumed": 1234, "cumulative_session_cost": 0.4321}
FIRST_OFFSET = 120_000


def after(
    values: list[dict[str, Any]], state: VerdictState | None = None, offset: int = FIRST_OFFSET
) -> VerdictState:
    detector = Verdict()
    state = detector.fresh() if state is None else state
    for place, value in enumerate(spread(values), offset):
        state = detector.observe(state, Decision.of(0, place, value), {}, DEFAULTS)[0]
    return state


def stored(state: VerdictState) -> list[Any]:
    read: list[Any] = orjson.loads(orjson.dumps([*state]))
    return read


def size(values: list[dict[str, Any]]) -> int:
    return len(orjson.dumps([*after(values)]))


def healthy(number: int) -> dict[str, Any]:
    result = " ".join(f"word{number}{at}" for at in range(25))
    path = f'{{"path": "src/app/module_{number}.py", "limit": {number}}}'
    return call(path, result, tool=TOOLS[number % len(TOOLS)], delta=DELTA)


def test_a_healthy_session_takes_less_than_two_kilobytes() -> None:
    assert size([healthy(number) for number in range(100)]) < 2000


def test_a_looping_session_takes_less() -> None:
    assert size([failing(delta=DELTA)] * 100) < 1300


def test_a_session_in_rounds_takes_less_than_two_and_a_half_kilobytes() -> None:
    assert size(in_rounds([healthy(number) for number in range(100)], calls=4)) < 2500


def test_no_text_of_a_record_is_kept_but_the_names_of_tools() -> None:
    secret = "hunter2"
    values = [
        call(f'{{"password": "{secret}{n}"}}', f"the password was {secret} {n}", content_hash=secret * 9)
        for n in range(6)
    ]
    values += [failing(f"{secret} was refused", f"{secret}{n}") for n in range(8)]
    written = orjson.dumps([*after(in_rounds(values, calls=2))]).decode()
    assert secret not in written
    assert "get_user" in orjson.dumps([*after(values[:3])]).decode()


def test_names_of_tools_are_bounded() -> None:
    values = [failing(tool="t" * 9000 + str(number % 3)) for number in range(40)]
    assert size(values) < 20_000


def test_a_state_is_read_back_as_it_was() -> None:
    state = after([*in_rounds([healthy(number) for number in range(9)], calls=2), *[failing()] * 4])
    assert stored(Verdict().restore(stored(state))) == stored(state)


def test_what_a_person_began_anew_keeps_numbers_and_the_open_episode() -> None:
    before = after([failing(delta=DELTA)] * 4)
    state = after([at(10, by_person(call()))], before, FIRST_OFFSET + 4)
    assert (state.judged, state.tokens) == (5, before.tokens)
    assert state.episode is not None
    assert before.episode is not None
    assert state.episode[0] == before.episode[0]
    assert state.keys == before.keys
    assert (state.run, state.stuck, state.known_words != before.known_words) == ((), (), True)


def in_format(fields: int) -> list[Any]:
    """A state as it was stored with so many fields: an episode is open, and one quiet record was counted."""
    newest = [120_003, 1_700_000_003_000, 400, 0.4]
    moments = [newest, [120_002, 1_700_000_002_000, 300, 0.3]]
    episode = [
        "e1",
        "LOOP",
        False,
        3,
        4,
        1,
        [120_000, 1_700_000_000_000, 100, 0.1],
        "R1",
        1,
        4,
        ["run"],
        ["ab"],
    ]
    values: list[Any] = [None] * 26
    values[:3] = [4, 400, 2]
    # Of 21 fields on they are one list of numbers, newest first.
    values[6] = [moments[1], newest] if fields == 20 else [*newest, 1, 1000, 300, 0.3]
    values[18:20] = [{"k1": [4, "e1"]}, episode]
    return values[:fields]


@pytest.mark.parametrize("fields", [20, 21, 25, 26])
def test_numbers_keys_and_the_open_episode_of_earlier_versions_are_kept(fields: int) -> None:
    state = Verdict().restore(in_format(fields))
    assert (state.judged, state.steps, state.tokens, state.infra_streak) == (4, 4, 400, 2)
    assert [*state.newest] == [120_003, 1_700_000_003_000, 400, 0.4]
    assert [*state.newest_place] == [120_003, 1_700_000_003_000]
    assert state.keys == {"k1": [4, "e1"]}
    assert state.episode == in_format(fields)[19]
    begun = VerdictState()
    kept = {"judged", "steps", "tokens", "infra_streak", "moments", "newest_place", "keys", "episode"}
    others = [name for name in VerdictState._fields if name not in kept]
    assert [getattr(state, name) for name in others] == [getattr(begun, name) for name in others]


@pytest.mark.parametrize("fields", [20, 21, 25, 26])
def test_a_session_of_an_earlier_version_goes_on_with_a_score_of_0(fields: int) -> None:
    detector, state = Verdict(), Verdict().restore(in_format(fields))
    levels, kinds, phases = [], [], []
    for offset, value in enumerate(spread([failing(), healthy(1), healthy(2)]), 120_004):
        state, block, findings = detector.observe(state, Decision.of(0, offset, value), {}, DEFAULTS)
        levels.append(block["level"])
        kinds.append(block["stuck"]["kind"])
        phases += [finding.fields["phase"] for finding in findings]
    # One quiet record was counted before, so the second of these ends the episode.
    assert (levels, kinds, phases) == (["LOOP", "NORMAL", "NORMAL"], ["first", "new", "new"], ["recovered"])


def test_a_state_of_no_known_format_is_refused() -> None:
    with pytest.raises(ValueError, match="24 fields"):
        Verdict().restore([0] * 24)

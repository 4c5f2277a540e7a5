"""What tests wait for: also while nobody answers, and never for ever."""

import aiohttp
import pytest

from tests.integration.worker_process import until


@pytest.mark.parametrize("error", [TimeoutError(), aiohttp.ServerDisconnectedError()])
async def test_who_does_not_answer_is_asked_again(error: Exception) -> None:
    answers = iter([error, False, True])

    async def asked() -> bool:
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    await until(asked, 60, "an answer")
    assert list(answers) == []


async def test_who_never_answers_is_not_waited_for_any_longer() -> None:
    async def asked() -> bool:
        raise aiohttp.ServerDisconnectedError

    with pytest.raises(AssertionError, match=r"in vain for an answer.*ServerDisconnectedError"):
        await until(asked, 0, "an answer")

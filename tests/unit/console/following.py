"""A console over a stream that was read already: its pages are asked over HTTP, its brokers never."""

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import orjson
from aiokafka.admin import AIOKafkaAdminClient

from schemas.codec import Codec
from streams.console.app import Routes, served
from streams.console.archive.archive import Archive
from streams.console.composition import console_on
from streams.console.console import Console
from streams.console.live_board import LiveBoard
from streams.console.timeline import StepReader
from streams.console.topic_follower import FollowerSettings, TopicFollower
from streams.console.workers import JobPoll
from streams.kafka.client import Brokers
from streams.kafka.connection import Connection
from tests.unit.console.auth.door_server import ANA, VIC, Answer, Asking, settings
from tests.unit.console.told import Told, folded

ADDRESS = "127.0.0.1:9"
"""Where no broker listens."""


class Reader(NamedTuple):
    """Somebody who has logged in."""

    asking: Asking
    cookie: dict[str, str]
    feed: TopicFollower

    async def page(self, path: str) -> str:
        """Return a page."""
        answer = await self.answer(path, "text/html")
        assert answer.status == 200, (path, answer.text)
        return answer.text

    async def json(self, path: str) -> dict[str, object]:
        """Return the content of a page."""
        found: dict[str, object] = orjson.loads((await self.answer(path, "application/json")).text)
        return found

    async def answer(self, path: str, accept: str = "text/html") -> Answer:
        """Return whatever comes."""
        return await self.asking("GET", path, {**self.cookie, "Accept": accept})


@asynccontextmanager
async def reading(
    console: Console, beside: Routes = (), token: str = ANA
) -> AsyncIterator[tuple[Asking, dict[str, str]]]:
    """Serve a console, and log in; yield what asks it, and the cookie."""
    async with served(console, beside) as address:
        asking = Asking(address, "127.0.0.1")
        try:
            login = await asking("POST", "/login", {"Origin": address}, token=token)
            yield asking, {"Cookie": login.headers["Set-Cookie"].partition(";")[0]}
        finally:
            await asking.close()


@asynccontextmanager
async def following(
    folder: Path,
    records: Iterable[Told],
    now: int,
    *,
    viewer: bool = False,
    beside: Callable[[Console], Routes] = lambda _: (),
    **given: object,
) -> AsyncIterator[Reader]:
    """Serve what records add up to, and log in."""
    model, codec, connection = folded(records), Codec.bundled(), Connection(ADDRESS)
    brokers = Brokers(connection, AIOKafkaAdminClient(bootstrap_servers=ADDRESS))
    archive = Archive(folder / "archive")
    try:
        feed = TopicFollower(brokers, codec, model, archive, FollowerSettings(), lambda: now)
        read = settings(folder, console_port=0, console_dir=folder / "archive", **given)
        job = JobPoll(brokers, read.job, read.worker_urls, lambda: now)
        board = LiveBoard(model, feed, StepReader(brokers, codec, model, archive), job, "test")
        console = console_on(read, board, lambda: now)
        async with reading(console, beside(console), VIC if viewer else ANA) as (asking, cookie):
            yield Reader(asking, cookie, feed)
    finally:
        archive.close()

"""Records that no client reads, among the settings to try out. Both settings topics are read alike."""

from __future__ import annotations

from streams.core.domain.topic import Topic
from tests.hostile.case import Attack, Case, Letter
from tests.hostile.ground import Ground
from tests.hostile.raw_batch import batch, record
from tests.integration.load import decision
from tests.integration.worker_process import PATIENCE_SECONDS, until


def tried_behind(*records: bytes) -> Attack:
    """Settings that come behind such records: they are tried out all the same."""

    async def attack(ground: Ground, session: str) -> list[Letter]:
        now = decision(session, 0)["meta"]["timestamp"]
        await ground.produce(batch(b"".join(records), len(records), timestamp=now), topic=Topic.SHADOW_CONFIG)
        await ground.stage.publish_shadow(entropy_window_size=7)
        number = 100

        async def shown(wanted: bool) -> bool:
            nonlocal number
            number += 1
            await ground.send_good(session, number)  # a partition takes settings over with a record
            return (await ground.worker.metric("eddy_shadow_settings_version") > 0) == wanted

        await until(lambda: shown(True), PATIENCE_SECONDS, "settings that are tried out", ground.worker)
        await ground.stage.publish_shadow()
        await until(lambda: shown(False), PATIENCE_SECONDS, "the end of the trial", ground.worker)
        return []

    return attack


_DOCUMENT = b'{"version": 3}'

CASES = (
    Case(
        "settings to try out with a header name that is not UTF-8",
        tried_behind(record(b"settings", _DOCUMENT, [(b"\xff", b"1")])),
    ),
    Case(
        "settings to try out that claim the offset of others",
        tried_behind(record(b"settings", _DOCUMENT), record(b"settings", _DOCUMENT)),
    ),
)

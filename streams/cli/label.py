"""`eddy label`: say of the newest alert of a session that it was right, or that it was not."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final

import click

from schemas.codec import Codec, UndecodableError
from schemas.numbers import CONTROL_SUBJECTS
from streams.cli.session import issuer, new_id, now_ms
from streams.cli.settings_change import BOOTSTRAP
from streams.cli.text.screen import echo
from streams.console.read_model.place import place
from streams.console.read_model.triage import EpisodeSeen, request_of
from streams.control.audit import AuditKind, AuditRecord, Result
from streams.control.label import Label, LabelWord, labels_in
from streams.control.publisher import CommandPublisher
from streams.core.domain.event_kind import EventKind
from streams.core.domain.text.printable import printable
from streams.core.domain.topic import Topic
from streams.core.errors import ConfigurationError
from streams.kafka.client import Brokers, connect
from streams.observe.settings import CommandSettings, load
from streams.worker.endpoints import connection, open_codec

_LONGEST_WHY: Final = 1_000


@click.command()
@click.argument("session")
@click.argument("word", metavar="loop|not-a-loop", type=click.Choice(["loop", "not-a-loop"]))
@click.option("--why", default="", help="What the next person should know.")
@BOOTSTRAP
def label(*, session: str, word: str, why: str, bootstrap_servers: str | None) -> None:
    """Say of the newest alert of a session whether it was right.

    One that is not a loop needs nobody any more: it leaves the inbox, and no policy acts on it. The label
    stands on session-labels. `eddy evaluate --labels` says from all of them how often the detectors were
    right, and which tools to exempt.

    \b
    Exit codes: 0 it is labelled, 2 no alert of it stands on session-alerts,
    3 the brokers do not answer.

    \b
    Examples:
      eddy label s-17 not-a-loop --why "It waits for a build."
      eddy label s-18 loop
    """  # noqa: D301
    why = why.encode("utf-8", "replace").decode()
    said = asyncio.run(publish_label(session, LabelWord(word.replace("-", "_")), why, bootstrap_servers))
    about = f"{said.rule} about {', '.join(said.tools) or 'no tool'}"
    echo(f"{printable(session, 200)}: {printable(about, 200)} is labelled {word.replace('-', ' ')}.")


async def publish_label(session_id: str, word: LabelWord, why: str, bootstrap_servers: str | None) -> Label:
    """Say of the newest alert of a session whether it was right; return what stands on the topic.

    Args:
        session_id: Session that the alert is about.
        word: What is said of the alert.
        why: For the next person; may be empty.
        bootstrap_servers: Brokers, or None for those of the settings.

    Raises:
        ConfigurationError: it has no alert, or a topic is missing.
        InfrastructureError: the brokers do not answer.
    """
    settings = load(CommandSettings, bootstrap_servers=bootstrap_servers)
    async with connect(connection(settings)) as brokers:
        codec = await open_codec(settings, CONTROL_SUBJECTS)
        try:
            alert, seen = await _newest_alert(brokers, codec, session_id)
            publisher = CommandPublisher(brokers, codec, None)
            by, now = issuer(), now_ms()
            said = Label(
                subject=alert["episode_id"],
                session_id=session_id,
                label=word,
                at=now,
                who=by.name,
                via=by.via,
                why=why[:_LONGEST_WHY] or None,
                agent_id=alert["agent_id"],
                rule=alert["rule"],
                level=alert["level"],
                tools=tuple(dict.fromkeys(each for each in alert["tools"] if each)),
            )
            # The audit does not announce what cannot be done.
            await publisher.partition(Topic.SESSION_LABELS, said.key)
            before = labels_in(
                [(each.key, each.value) async for each in brokers.read(brokers.topic(Topic.SESSION_LABELS))]
            )
            was_wrong = LabelWord.NOT_A_LOOP in {
                each.label for each in before.labels if each.subject == said.subject
            }
            # Who says that it is a loop takes back what was said before.
            for do in ("unack", word) if was_wrong and word is LabelWord.LOOP else (word,):
                record = AuditRecord(
                    id=new_id(now),
                    at=now,
                    who=by.name,
                    via=by.via,
                    kind=AuditKind.TRIAGE,
                    target=said.subject,
                    why=said.why,
                    request=request_of(do, seen),
                    result=Result.ACCEPTED,
                )
                await publisher.audit(record)
            await publisher.label([said])
        finally:
            await codec.close()
    return said


async def _newest_alert(
    brokers: Brokers, codec: Codec, session_id: str
) -> tuple[Mapping[str, Any], EpisodeSeen]:
    """Return the newest alert of an episode of a session, and how the episode was then.

    Raises:
        ConfigurationError: there is none, or no such topic.
        InfrastructureError: the brokers do not answer.
    """
    topic, key = brokers.topic(Topic.SESSION_ALERTS), session_id.encode("utf-8", "replace")
    decoder = codec.decoder(f"{Topic.SESSION_ALERTS}-value")
    newest: tuple[Mapping[str, Any], EpisodeSeen] | None = None
    # All of it: a producer may have put the session into a partition of its own choice.
    async for stored in brokers.read(topic):
        if stored.key != key:
            continue
        try:
            await decoder.prepare([(stored.value, tuple(stored.headers))])
            fields = decoder.decode(stored.value, tuple(stored.headers))
        except UndecodableError:
            continue
        if fields.get("event_type") == EventKind.LOOP_EPISODE:
            at = place(fields["partition"], fields["offset"])
            newest = fields, EpisodeSeen(fields["tokens_since_onset"], fields["level"], at)
    if newest is None:
        raise ConfigurationError(
            f"No alert of a loop of {printable(session_id, 200)} stands on {topic}: there is nothing to label"
        )
    return newest

"""What `eddy evaluate` says from the topics of a job: labels of people, and what policies brought."""

from __future__ import annotations

import asyncio
import glob
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from streams.cli.text.evaluation_table import intervention_lines, label_lines
from streams.cli.text.screen import echo, echo_json, echo_lines
from streams.control.label import labels_in
from streams.core.domain.text.figures import count
from streams.core.domain.tool_class import PolicyMode, ToolPolicy
from streams.core.domain.topic import Topic
from streams.core.errors import ConfigurationError
from streams.core.settings_document import to_document
from streams.operate.label_precision import precision, to_exempt

Fields = Mapping[str, Any]


def evaluate_labels(bootstrap_servers: str | None, propose: Path | None, *, as_json: bool) -> None:
    """Say how often alerts were right by what people said, and what to exempt.

    Args:
        bootstrap_servers: Brokers, or None for those of the settings.
        propose: File for settings that follow; None writes none.
        as_json: Whether a program reads it.

    Raises:
        ConfigurationError: nobody has labelled anything, or the proposal cannot be written.
    """
    from streams.operate.explain.settings_topic import in_force  # noqa: PLC0415 - the client takes a second
    from streams.operate.explain.settings_topic import read as stored  # noqa: PLC0415

    said, documents = asyncio.run(stored(bootstrap_servers, Topic.SESSION_LABELS, Topic.DETECTOR_CONFIG))
    found = labels_in((each.key, each.value) for each in said)
    if found.unreadable:
        echo(f"warning: {count(found.unreadable, 'label')} cannot be read and are left out", err=True)
    if not found.labels:
        raise ConfigurationError(
            "Nobody has labelled an alert yet. The console has buttons for it, and so has `eddy label`"
        )
    rows, exempt = precision(found.labels), to_exempt(found.labels)
    if as_json:
        shares = [{**row._asdict(), "share": row.share, "interval": row.interval} for row in rows]
        echo_json({"precision": shares, "exempt": list(exempt)}, indented=True)
    else:
        echo_lines(label_lines(rows, exempt))
    if propose is not None:
        settings = in_force(documents)
        named = {policy.glob for policy in settings.tool_policies}
        names = map(glob.escape, exempt)
        policies = [ToolPolicy(name, PolicyMode.exempt) for name in names if name not in named]
        after = replace(settings, tool_policies=(*policies, *settings.tool_policies))
        try:
            propose.write_text(json.dumps(to_document(after), indent=2) + "\n", encoding="utf-8")
        except OSError as error:
            raise ConfigurationError(f"{propose} cannot be written: {error}") from error
        echo(f"{propose}: {count(len(policies), 'tool')} more exempt than in force", err=True)


def evaluate_interventions(bootstrap_servers: str | None, *, as_json: bool) -> None:
    """Say what the steps of policies brought, beside loops on which no policy acted.

    Args:
        bootstrap_servers: Brokers, or None for those of the settings.
        as_json: Whether a program reads it.

    Raises:
        ConfigurationError: a topic is missing.
        InfrastructureError: the brokers do not answer.
    """
    # The console's modules and the client take a second.
    from streams.console.interventions.decided import as_episode, decided  # noqa: PLC0415
    from streams.console.interventions.scoreboard import outcomes, scores, without_steps  # noqa: PLC0415
    from streams.console.read_model.model import ReadModel  # noqa: PLC0415

    actions, alerts = asyncio.run(_read(bootstrap_servers))
    model = ReadModel()
    for stored, fields in actions:
        model.take(Topic.CONSOLE_ACTIONS, stored, fields)
    events: dict[str, list[Fields]] = {}
    for _, fields in alerts:
        if (event := as_episode(fields)) is not None:
            events.setdefault(fields["episode_id"], []).append(event)
    decisions = decided(model.ledger.actions.values())
    found = scores(decisions, outcomes(decisions, events))
    beside = without_steps(decisions, events)
    if as_json:
        document = {"rules": [each._asdict() for each in found], "without_steps": beside._asdict()}
        echo_json(document, indented=True)
    else:
        echo_lines(intervention_lines(found, beside))


async def _read(bootstrap_servers: str | None) -> tuple[Sequence[Any], Sequence[Any]]:
    """Return what stands on the audit and on the alerts, each record with its value."""
    from schemas.codec import UndecodableError  # noqa: PLC0415
    from streams.kafka.client import connect  # noqa: PLC0415
    from streams.observe.settings import RecordSettings, load  # noqa: PLC0415
    from streams.worker.endpoints import connection, open_codec  # noqa: PLC0415

    settings = load(RecordSettings, bootstrap_servers=bootstrap_servers)
    async with connect(connection(settings)) as brokers:
        codec = await open_codec(settings, written=())
        try:
            read: list[list[Any]] = []
            for topic in (Topic.CONSOLE_ACTIONS, Topic.SESSION_ALERTS):
                decoder, records = codec.decoder(f"{topic}-value"), list[Any]()
                async for stored in brokers.read(brokers.topic(topic)):
                    headers = tuple(stored.headers)
                    try:
                        await decoder.prepare([(stored.value, headers)])
                        records.append((stored, decoder.decode(stored.value, headers)))
                    except UndecodableError:
                        continue  # of another program, or of a later version
                read.append(records)
            return read[0], read[1]
        finally:
            await codec.close()

"""`eddy topics`: the topics as they should be, compared with the brokers and made so."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence

import click

from streams.alerts.settings import NotifySettings
from streams.cli.command_group import CommandGroup
from streams.cli.text.screen import echo, echo_lines
from streams.cli.variables import brokers_option
from streams.core.domain.text.figures import count
from streams.core.domain.topic import Topic
from streams.kafka.client import connect
from streams.kafka.topic_identity import job_topics
from streams.observe.settings import TopicSettings, load
from streams.worker.endpoints import connection
from topics.catalogue import Catalogue, TopicSpec
from topics.export import Users, strimzi, terraform
from topics.plan import Change, CreateTopic, Refused, plan, render
from topics.rights import (
    bridge_rights,
    guard_rights,
    http_guard_rights,
    notifier_rights,
    operator_rights,
    redrive_rights,
    viewer_rights,
    worker_rights,
)


async def compare(settings: TopicSettings, *, carry_out: bool) -> tuple[tuple[Change, ...], str]:
    """Return what differs, once it is carried out where asked to, and else why brokers would refuse it.

    The number of partitions that `decision-logs` has counts where none was asked for: a default of ours is no
    reason to refuse topics that fit one another. So does the number that `otlp_spans` has: a collector may
    have created it.
    """
    async with connect(connection(settings)) as brokers:
        decisions, spans = map(brokers.topic, (Topic.DECISION_LOGS, Topic.OTLP_SPANS))
        wanted = _wanted(settings, settings.partitions, None)
        while True:
            found = await brokers.describe(topic.name for topic in wanted.topics)
            # From the same answer: a topic whose news had not spread at an earlier look must not be refused.
            counts = {topic.name: topic.partitions for topic in found}
            partitions = settings.partitions
            if "partitions" not in settings.model_fields_set:
                partitions = counts.get(decisions, partitions)
            wanted = _wanted(settings, partitions, counts.get(spans))
            changes = plan(wanted, found)
            if not carry_out:
                # Asked to check only, some brokers create: so they are counted.
                return changes, _too_few(await brokers.count_brokers(), changes)
            if await brokers.apply(changes):
                return changes, ""


def _too_few(brokers: int, changes: Iterable[Change]) -> str:
    most = max((each.topic.replicas for each in changes if isinstance(each, CreateTopic)), default=0)
    if most <= brokers:
        return ""
    return (
        f"{most} replicas are wanted, and the cluster has {count(brokers, 'broker')}: Apache Kafka refuses "
        "that. Give --replicas, or EDDY_REPLICAS, no more than there are brokers."
    )


def _wanted(settings: TopicSettings, partitions: int, span_partitions: int | None) -> Catalogue:
    return job_topics(
        settings.job,
        settings.topic_prefix,
        partitions=partitions,
        replicas=settings.replicas,
        span_partitions=span_partitions,
    )


@click.group(cls=CommandGroup)
def topics() -> None:
    """Compare the topics with the catalogue, and create or change them.

    The catalogue is topics/topics.yaml. Nothing is ever deleted, and no partition is added where it would
    tear a session from its state.
    """


_REPLICAS = click.option(
    "--replicas", type=click.IntRange(1, 10), help="Replicas of every topic [EDDY_REPLICAS, 3]."
)


def _counts(command: Callable[..., None]) -> Callable[..., None]:
    partitions = click.option(
        "--partitions", type=click.IntRange(1), help="Partitions of the session topics [EDDY_PARTITIONS, 8]."
    )
    return partitions(_REPLICAS(command))


def _sizes(command: click.Command) -> click.Command:
    command = _REPLICAS(command)
    command = click.option(
        "--partitions",
        type=click.IntRange(1),
        help="Partitions of the session topics [EDDY_PARTITIONS; what decision-logs has, else 8].",
    )(command)
    return brokers_option(command)


def _run(
    bootstrap_servers: str | None, partitions: int | None, replicas: int | None, *, carry_out: bool
) -> None:
    settings = load(
        TopicSettings, bootstrap_servers=bootstrap_servers, partitions=partitions, replicas=replicas
    )
    changes, would_fail = asyncio.run(compare(settings, carry_out=carry_out))
    echo_lines(render(changes))
    if would_fail:
        echo(f"`eddy topics apply` would fail: {would_fail}", err=True)
    refused = any(isinstance(change, Refused) for change in changes)
    if refused and carry_out:
        echo("Nothing was changed: do what the refused lines say, then apply again.", err=True)
    if refused or (changes and not carry_out):
        raise click.exceptions.Exit(1)


@topics.command("plan")
def plan_command(bootstrap_servers: str | None, partitions: int | None, replicas: int | None) -> None:
    """Print what `apply` would change. Exit status 1 when there is something."""
    _run(bootstrap_servers, partitions, replicas, carry_out=False)


@topics.command("apply")
def apply_command(bootstrap_servers: str | None, partitions: int | None, replicas: int | None) -> None:
    """Create what is missing and correct what differs, all of it or nothing.

    If one change has to be refused, nothing is changed and the exit status is 1.
    """
    _run(bootstrap_servers, partitions, replicas, carry_out=True)


@topics.command("export")
@click.option(
    "--strimzi", "form", flag_value="strimzi", help="As KafkaTopic and KafkaUser of Strimzi, in YAML."
)
@click.option("--terraform", "form", flag_value="terraform", help="For the provider Mongey/kafka, in JSON.")
@click.option("--cluster", metavar="NAME", help="With --strimzi: the Kafka resource that it is for.")
@click.option(
    "--authentication",
    type=click.Choice(["scram-sha-512", "tls", "tls-external"]),
    default="scram-sha-512",
    show_default=True,
    help="With --strimzi: how its users log in.",
)
@_counts
def export_command(
    *,
    form: str | None,
    cluster: str | None,
    authentication: str,
    partitions: int | None,
    replicas: int | None,
) -> None:
    """Print the topics, and what each process may do, for those who declare theirs. It asks no broker.

    There is a user each for workers, the bridge, the notifier, the console and guards. `eddy topics plan`
    says afterwards whether the brokers have what is needed.

    \b
    Examples:
      eddy topics export --strimzi --cluster kafka > eddy-topics.yaml
      eddy topics export --terraform > eddy.tf.json
    """  # noqa: D301
    if form is None:
        raise click.UsageError("Give --strimzi or --terraform.")
    if form == "strimzi" and not cluster:
        raise click.UsageError("Give --cluster: the name of the Kafka resource.")
    settings = load(TopicSettings, partitions=partitions, replicas=replicas)
    found = _wanted(settings, settings.partitions, None).topics
    users = _users(found, settings.job, load(NotifySettings).group)
    if form == "strimzi":
        text = strimzi(found, users, cluster or "", authentication)
    else:
        text = terraform(found, users)
    echo_lines(text.splitlines())


def _users(found: Sequence[TopicSpec], job: str, notifiers: str) -> Users:
    bridge = f"{job}-bridge"
    console = [
        viewer_rights(found, job),
        operator_rights(found),
        redrive_rights(found),
        http_guard_rights(found),
    ]
    return {
        f"{job}-worker": worker_rights(found, job, f"{job}-"),
        bridge: bridge_rights(found, bridge, f"{bridge}-"),
        f"{job}-notifier": notifier_rights(found, notifiers),
        f"{job}-console": [right for rights in console for right in rights],
        f"{job}-guard": guard_rights(found),
    }


_sizes(plan_command)
_sizes(apply_command)

"""What has to be in place before a worker starts: its topics with their partitions, and its producer."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from contextlib import suppress

from aiokafka import AIOKafkaProducer
from aiokafka.errors import (
    ClusterAuthorizationFailedError,
    InvalidTransactionTimeout,
    KafkaError,
    TransactionalIdAuthorizationFailed,
    UnknownError,
    UnsupportedVersionError,
)

from streams.core.errors import ConfigurationError, InfrastructureError
from streams.kafka.client import Brokers, connect
from streams.kafka.topic_identity import job_topics
from streams.worker.options import EngineOptions

log = logging.getLogger(__name__)

_LARGEST = "max.message.bytes"
_CLEANUP = "cleanup.policy"


async def check_topics(options: EngineOptions) -> dict[str, int]:
    """Refuse to start on topics that do not fit; return how many bytes a record may have.

    The answer has every topic that the job writes to.

    Raises:
        BrokerUnreachableError: no broker answers.
        ConfigurationError: a topic is missing, a changelog is not co-partitioned with its source or does not
            keep what it holds, or a topic does not take the batches that the job writes.
    """
    pairs = options.changelogs()
    written = options.written()
    wanted = list(dict.fromkeys((*pairs, *map(options.topic, options.flow.settings), *written)))
    async with connect(options.connection) as brokers:
        counts = await brokers.partition_counts(wanted)
        configs = await _configs(brokers, written)
    if missing := [topic for topic in wanted if topic not in counts]:
        raise ConfigurationError(
            f"The brokers have no topic {', '.join(missing)}. Create the topics with `eddy topics apply`."
        )
    for source, changelog in pairs.items():
        if counts[source] != counts[changelog]:
            raise ConfigurationError(
                f"{source} has {counts[source]} partitions and {changelog} has {counts[changelog]}; they "
                "must have the same number. A partition count cannot change under existing state: start "
                "under a new EDDY_APPLICATION_ID, whose changelog `eddy topics apply` creates to fit."
            )
    for changelog in pairs.values():
        check_keeps_state(changelog, configs.get(changelog, {}))
    largest = _largest(configs, written, options)
    batch = options.faust.get("producer_max_batch_size", 0)
    if small := sorted(topic for topic, size in largest.items() if size < batch):
        raise ConfigurationError(
            f"{', '.join(small)}: takes {min(largest[topic] for topic in small)} bytes at once "
            f"(max.message.bytes), a batch of the job has up to {batch}. Raise it with `eddy topics apply`, "
            "or lower EDDY_PRODUCER_MAX_BATCH_BYTES."
        )
    return largest


def check_keeps_state(changelog: str, config: Mapping[str, str]) -> None:
    """Refuse a changelog from which Kafka deletes the state of sessions that live.

    Args:
        changelog: Name of the changelog topic.
        config: Its config, as far as the brokers tell it.

    Raises:
        ConfigurationError: says what to do.
    """
    policy = config.get(_CLEANUP, "")
    if "delete" in policy:
        raise ConfigurationError(
            f"{changelog} has cleanup.policy={policy}: Kafka deletes the state it holds after retention.ms "
            f"({config.get('retention.ms', '7 days by default')}), and a partition that is restored then has "
            "lost its older sessions. It was not created by `eddy topics apply`, or changed since: `eddy "
            "topics apply` makes it compact again. What is deleted already only the local state of a worker "
            "may still hold."
        )


async def _configs(brokers: Brokers, topics: list[str]) -> dict[str, Mapping[str, str]]:
    """Return the configs of the topics, as far as we may read them."""
    try:
        described = await brokers.describe(topics)
    except InfrastructureError as error:
        log.warning("The sizes that topics take cannot be read, those of the catalogue count. %s", error)
        return {}
    return {topic.name: topic.config for topic in described}


def _largest(
    configs: Mapping[str, Mapping[str, str]], topics: list[str], options: EngineOptions
) -> dict[str, int]:
    """Return what each topic takes, in bytes; what it should take where its config is not known."""
    found = {name: config.get(_LARGEST, "") for name, config in configs.items()}
    known = {name: int(size) for name, size in found.items() if size.isdigit()}
    prefix = options.connection.topic_prefix
    wanted = job_topics(options.job, prefix, partitions=1, replicas=1)
    return {topic: known.get(topic) or int(wanted[topic].config[_LARGEST]) for topic in topics}


#: For a coordinator to answer, seconds. The first transaction of a cluster creates a topic.
_WITHIN_S = 30.0
_CLOSE_S = 5.0


def check_transactional_id(application_id: str) -> str:
    """Return the transactional id that is used to ask, and for nothing else.

    >>> check_transactional_id("eddy")
    'eddy-check'
    """
    return f"{application_id}-check"


async def check_producer(options: EngineOptions, within_s: float = _WITHIN_S) -> None:
    """Start and end a producer as the worker will: transactional or idempotent, if it is to be.

    Raises:
        ConfigurationError: the brokers have no such producers, allow no transaction so long, or not to this
            worker.
        InfrastructureError: no broker that has to do with it answers.
    """
    wanted = options.transactions
    if wanted is None:
        await _check_idempotence(options, within_s)
        return
    transactional_id = check_transactional_id(options.application_id)
    producer = AIOKafkaProducer(
        **options.connection.client_options(),
        transactional_id=transactional_id,
        transaction_timeout_ms=int(wanted.timeout_s * 1000),
    )
    try:
        await _start_and_stop(producer, within_s)
    except InvalidTransactionTimeout as error:
        raise ConfigurationError(
            f"The brokers do not let a transaction be open for {wanted.timeout_s:g} s. Set "
            "EDDY_TRANSACTION_TIMEOUT_S to less than their transaction.max.timeout.ms, and "
            "EDDY_PRODUCER_REQUEST_TIMEOUT_S to less than that."
        ) from error
    except TransactionalIdAuthorizationFailed as error:
        raise ConfigurationError(
            f"The brokers do not let this worker use the transactional id {transactional_id}. Allow Write "
            f"and Describe on the transactional ids that begin with {options.application_id}-."
        ) from error
    except TimeoutError as error:
        raise InfrastructureError(
            f"No transaction coordinator has answered within {within_s:g} s. Check the brokers, and that "
            "they can create __transaction_state: transaction.state.log.replication.factor must not be "
            "larger than their number."
        ) from error
    except KafkaError as error:
        raise ConfigurationError(
            f"EDDY_PROCESSING_GUARANTEE=exactly_once needs transactions, which these brokers refuse "
            f"({error!r}): the embedded broker, for one, has none. Use Apache Kafka, or at_least_once."
        ) from error


async def _check_idempotence(options: EngineOptions, within_s: float) -> None:
    if not options.transport.producer.get("enable_idempotence"):
        return
    producer = AIOKafkaProducer(**options.connection.client_options(), enable_idempotence=True)
    try:
        await _start_and_stop(producer, within_s)
    except TimeoutError as error:
        raise InfrastructureError(
            f"No broker has let a producer start within {within_s:g} s. Check the brokers."
        ) from error
    except (UnknownError, UnsupportedVersionError, ClusterAuthorizationFailedError) as error:
        raise ConfigurationError(
            f"These brokers refuse an idempotent producer ({error!r}): that of `eddy broker`, for one, has "
            "none. Set EDDY_PRODUCER_IDEMPOTENCE=false there."
        ) from error


async def _start_and_stop(producer: AIOKafkaProducer, within_s: float) -> None:
    try:
        async with asyncio.timeout(within_s):
            await producer.start()
    finally:
        with suppress(KafkaError, TimeoutError):
            async with asyncio.timeout(_CLOSE_S):
                await producer.stop()

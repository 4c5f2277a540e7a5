"""Before the start: the brokers have transactions, and let this worker have them."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from aiokafka import AIOKafkaProducer
from aiokafka.errors import (
    InvalidTransactionTimeout,
    KafkaError,
    TransactionalIdAuthorizationFailed,
)

from streams.core.errors import ConfigurationError, InfrastructureError
from streams.worker.options import EngineOptions

#: For a coordinator to answer, seconds. The first transaction of a cluster creates a topic.
_WITHIN_S = 30.0
_CLOSE_S = 5.0


def check_transactional_id(application_id: str) -> str:
    """Return the transactional id that is used to ask, and for nothing else.

    >>> check_transactional_id("eddy")
    'eddy-check'
    """
    return f"{application_id}-check"


async def check_transactions(options: EngineOptions, within_s: float = _WITHIN_S) -> None:
    """Start and end a transactional producer as the worker will, if it is to.

    Raises:
        ConfigurationError: the brokers have no transactions, allow none so long, or not to this worker.
        InfrastructureError: no transaction coordinator answers.
    """
    wanted = options.transactions
    if wanted is None:
        return
    transactional_id = check_transactional_id(options.application_id)
    producer = AIOKafkaProducer(
        **options.connection.client_options(),
        transactional_id=transactional_id,
        transaction_timeout_ms=int(wanted.timeout_s * 1000),
    )
    try:
        async with asyncio.timeout(within_s):
            await producer.start()
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
    finally:
        with suppress(KafkaError, TimeoutError):
            async with asyncio.timeout(_CLOSE_S):
                await producer.stop()

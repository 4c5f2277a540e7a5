"""Why a broker lets nobody in, as a sentence with the variable to change in it."""

import asyncio
import ssl
from pathlib import Path

import pytest
from aiokafka.errors import IllegalSaslStateError, SaslAuthenticationFailed, UnsupportedSaslMechanismError

from streams.kafka.connection import Connection, refusal, what_to_do
from tests.unit.kafka.test_connection import Authority, server

PASSWORD = "correct-horse-battery"
CONNECTION = Connection("b:1", "SASL_SSL", "PLAIN", "ann", PASSWORD)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (SaslAuthenticationFailed("no"), "The login of ann is refused: check EDDY_SASL_USERNAME"),
        (UnsupportedSaslMechanismError("no"), "does not offer PLAIN: set EDDY_SASL_MECHANISM"),
        (IllegalSaslStateError("no"), "EDDY_SECURITY_PROTOCOL"),
        (ssl.SSLError(1, "[SSL: WRONG_VERSION_NUMBER]"), "TLS fails"),
    ],
)
def test_a_login_or_tls_that_fails_names_what_to_change(error: Exception, said: str) -> None:
    told = what_to_do(error, CONNECTION)
    assert told is not None
    assert said in told
    assert PASSWORD not in told


@pytest.mark.parametrize("error", [ConnectionRefusedError(), TimeoutError(), OSError("no route")])
def test_what_is_neither_login_nor_tls_is_not_guessed_at(error: Exception) -> None:
    assert what_to_do(error, CONNECTION) is None


async def test_a_certificate_for_another_name_and_one_nobody_trusts_are_told_apart(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    authority = Authority(tmp_path_factory.mktemp("authority"))
    stranger = Authority(tmp_path_factory.mktemp("stranger"))
    async with server(authority.issue("localhost")) as port:
        trusting = {"security_protocol": "SSL", "ssl_cafile": str(authority.identity.certificate)}
        other_name = await refusal(Connection(f"127.0.0.1:{port}", **trusting))
        strange = {"security_protocol": "SSL", "ssl_cafile": str(stranger.identity.certificate)}
        untrusted = await refusal(Connection(f"localhost:{port}", **strange))
    assert other_name is not None
    assert "for another name" in other_name
    assert untrusted is not None
    assert "EDDY_SSL_CAFILE" in untrusted


async def test_a_certificate_that_breaks_the_standard_is_told_from_one_nobody_trusts(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    strict = ssl.create_default_context(cafile=authority.identity.certificate)
    strict.verify_flags |= ssl.VERIFY_X509_STRICT  # the default of Python 3.13
    async with server(authority.issue("localhost", names_issuer_key=False)) as port:
        with pytest.raises(ssl.SSLCertVerificationError) as caught:
            await asyncio.open_connection("localhost", port, ssl=strict)
    told = what_to_do(caught.value, CONNECTION)
    assert told is not None
    assert "breaks RFC 5280 (Missing Authority Key Identifier)" in told


async def test_a_broker_that_is_not_there_refuses_nothing() -> None:
    assert await refusal(Connection("127.0.0.1:1")) is None

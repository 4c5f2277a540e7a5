"""Signatures that every library of Standard Webhooks accepts."""

import base64

import pytest

from streams.alerts.sinks.webhook import keys, signed
from streams.core.errors import ConfigurationError

#: The example of the specification, and what its libraries make of it.
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
BODY = b'{"test": 2432232314}'


def test_it_is_the_signature_of_the_specification() -> None:
    headers = signed(keys(SECRET), "msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, BODY)
    assert headers == {
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }


def test_two_secrets_sign_while_one_replaces_the_other() -> None:
    other = "whsec_" + base64.b64encode(b"o" * 32).decode()
    both = signed(keys(f"{SECRET} {other}"), "id", 1, BODY)["webhook-signature"].split()
    assert both == [
        signed(keys(SECRET), "id", 1, BODY)["webhook-signature"],
        signed(keys(other), "id", 1, BODY)["webhook-signature"],
    ]


@pytest.mark.parametrize("secret", ["", "hunter2", "whsec_no base64!", "whsec_c2hvcnQ="])
def test_what_is_no_secret_is_refused_and_never_shown(secret: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        keys(secret)
    assert not secret or secret not in str(refused.value)

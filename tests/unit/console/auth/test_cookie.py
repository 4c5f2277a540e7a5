"""Cookies: nothing but what this console sealed is opened."""

import base64
import hashlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from itsdangerous import BadSignature, URLSafeSerializer

from streams.console.auth.cookie import LIFE_MS, Login, csrf_token, is_csrf_token, opened, sealed

KEY = b"k" * 32
LOGIN = Login("ana", "0123456789abcdef", "5f", until=LIFE_MS)


@given(
    name=st.text(max_size=100), mark=st.text(max_size=16), session=st.text(max_size=32), until=st.integers(1)
)
def test_what_was_sealed_is_opened_until_it_ends(name: str, mark: str, session: str, until: int) -> None:
    login = Login(name, mark, session, until)
    cookie = sealed(login, KEY)
    assert opened(cookie, KEY, until - 1) == login
    assert opened(cookie, KEY, until) is None
    assert all(character not in cookie for character in ' ",;\\\r\n=')


@given(at=st.integers(0), to=st.characters())
def test_no_other_character_anywhere_opens_it_as_another_login(at: int, to: str) -> None:
    cookie = sealed(LOGIN, KEY)
    at %= len(cookie)
    changed = cookie[:at] + to + cookie[at + 1 :]
    assert opened(changed, KEY, 0) in (None, LOGIN)
    # The last character of a signature has bits that say nothing, and base64 writes two others in two ways.
    says_the_same = at == len(cookie) - 1 or changed.replace("+", "-").replace("/", "_") == cookie
    assert says_the_same or opened(changed, KEY, 0) is None


@given(st.text(max_size=300))
def test_anything_else_is_no_cookie(text: str) -> None:
    assert opened(text, KEY, 0) is None


@pytest.mark.parametrize("body", [{"name": "ana"}, [], ["ana"], "ana", None, [1, 2, 3, 4, 5]])
def test_a_cookie_of_another_form_is_none(body: object) -> None:
    text = base64.urlsafe_b64encode(json.dumps(body).encode()).decode().rstrip("=")
    assert opened(f"{text}.", KEY, 0) is None


def test_one_key_makes_tokens_that_are_good_for_one_use() -> None:
    token = csrf_token("5f", KEY, 0)
    assert is_csrf_token(token, "5f", KEY, 0)
    assert not is_csrf_token(sealed(LOGIN, KEY), "5f", KEY, 0)
    assert not is_csrf_token(token, "5f", KEY, 2 * LIFE_MS)
    assert not is_csrf_token("", "", KEY, 0)


def test_logins_at_a_provider_are_for_versions_that_know_them_and_others_are_as_before() -> None:
    # The version before read four fields of this use, and failed at more.
    before = URLSafeSerializer(
        KEY, salt="eddy cookie 2", signer_kwargs={"key_derivation": "hmac", "digest_method": hashlib.sha256}
    )
    assert before.loads(sealed(LOGIN, KEY)) == list(LOGIN[:-1])
    assert opened(before.dumps(LOGIN[:-1]), KEY, 0) == LOGIN
    grouped = LOGIN._replace(groups=("sre", "staff"))
    assert opened(sealed(grouped, KEY), KEY, 0) == grouped
    with pytest.raises(BadSignature):
        before.loads(sealed(grouped, KEY))


@pytest.mark.parametrize("fields", [[], ["ana"], [*LOGIN, "more"], {"name": "ana"}, 7, None])
def test_what_is_signed_and_no_login_is_none(fields: object) -> None:
    kwargs = {"key_derivation": "hmac", "digest_method": hashlib.sha256}
    for use in ("cookie", "provider"):
        value = URLSafeSerializer(KEY, salt=f"eddy {use} 2", signer_kwargs=kwargs).dumps(fields)
        assert opened(str(value), KEY, 0) is None

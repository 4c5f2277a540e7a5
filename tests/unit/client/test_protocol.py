"""Which commands a guard obeys: who has no key signs nothing, and a changed value is found out."""

from __future__ import annotations

import hmac
import json
from hashlib import sha256

import pytest
from eddy_client.protocol import (
    HEADER,
    Action,
    Scope,
    Signature,
    is_possible,
    key_id,
    refusal,
    signed,
    verified,
)
from hypothesis import assume, given
from hypothesis import strategies as st

KEY, OLD = b"a key of sixteen", b"the key before it"
VALUES, KEYS = st.binary(max_size=200), st.binary(min_size=16, max_size=40)


@given(value=VALUES, key=KEYS)
def test_what_is_signed_is_valid_for_those_who_have_the_key(value: bytes, key: bytes) -> None:
    assert verified(value, [("eddy-schema", b"x"), signed(value, key)], [OLD, key]) is Signature.VALID


@given(value=VALUES, other=VALUES, key=KEYS)
def test_another_value_is_not_the_one_that_was_signed(value: bytes, other: bytes, key: bytes) -> None:
    assume(value != other)
    assert verified(other, [signed(value, key)], [key]) is Signature.WRONG


@given(value=VALUES, key=KEYS, other=KEYS)
def test_a_key_that_the_reader_does_not_have_is_named_so(value: bytes, key: bytes, other: bytes) -> None:
    assume(key_id(key) != key_id(other))
    assert verified(value, [signed(value, key)], [other]) is Signature.UNKNOWN_KEY
    assert verified(value, [signed(value, key)], []) is Signature.UNKNOWN_KEY


def test_without_the_header_it_is_not_signed() -> None:
    assert verified(b"v", [("eddy-schema", b"x")], [KEY]) is Signature.ABSENT
    assert verified(b"v", [(HEADER, None)], [KEY]) is Signature.ABSENT


@pytest.mark.parametrize("header", [b"", b"v1", b"v2 97e85fdf 00", b"v1 97e85fdf", b"v1  97e85fdf 00"])
def test_a_header_of_another_form_cannot_be_read(header: bytes) -> None:
    assert verified(b"v", [(HEADER, header)], [KEY]) is Signature.MALFORMED


@pytest.mark.parametrize("header", [b"v1 97e85fdf 00", b"v1 97e85fdf \xff"])
def test_a_header_that_says_nothing_right_is_wrong(header: bytes) -> None:
    assert verified(b"v", [(HEADER, header)], [KEY]) is Signature.WRONG


def test_the_first_header_counts() -> None:
    forged = (HEADER, b"v1 97e85fdf 00")
    assert verified(b"v", [forged, signed(b"v", KEY)], [KEY]) is Signature.WRONG


def test_the_header_is_what_other_programs_can_make() -> None:
    mac = hmac.new(KEY, b"v", sha256).hexdigest()
    assert signed(b"v", KEY) == ("eddy-mac", f"v1 {sha256(KEY).hexdigest()[:8]} {mac}".encode())


@given(value=VALUES, keys=st.sampled_from([(KEY,), (OLD, KEY), (KEY, OLD)]))
def test_a_guard_obeys_what_is_signed_with_one_of_its_keys(value: bytes, keys: tuple[bytes, ...]) -> None:
    assert refusal(value, [signed(value, KEY)], keys) is None


def test_without_a_key_a_guard_obeys_everybody() -> None:
    assert refusal(b"v", [], ()) is None
    assert refusal(b"v", [(HEADER, b"nonsense")], ()) is None


@pytest.mark.parametrize(
    ("headers", "why"),
    [
        ([], "it is not signed"),
        ([(HEADER, b"nonsense")], "its signature cannot be read"),
        ([signed(b"v", OLD)], "it is signed with another key"),
        ([signed(b"other", KEY)], "its signature is wrong"),
    ],
)
def test_a_guard_says_why_it_refuses(headers: list[tuple[str, bytes | None]], why: str) -> None:
    assert refusal(b"v", headers, (KEY,)) == why


def test_a_hold_only_pauses_and_resumes() -> None:
    assert all(is_possible(Scope.SESSION, action) for action in Action)
    assert [action for action in Action if is_possible(Scope.AGENT, action)] == ["pause", "resume"]
    assert not is_possible(Scope.SESSION, "a word of a later version")


@pytest.mark.parametrize("word", [Action.PAUSE, Scope.ALL])
def test_a_word_is_its_text_in_sentences_and_in_json(word: Action | Scope) -> None:
    assert f"{word}" == str(word) == word.value
    assert f"{word:>8}" == word.value.rjust(8)
    assert json.loads(json.dumps({word: word})) == {word.value: word.value}

"""What the job signs a guard takes, and nothing else; both keys count while the key is changed."""

from __future__ import annotations

import pytest
from eddy_client.guard.signature import refusal
from hypothesis import given
from hypothesis import strategies as st

from streams.control.signature import HEADER, Signature, signed, verified

OLD, NEW = b"the key before it", b"a key of sixteen"
VALUES = st.binary(max_size=100)
HEADERS = st.lists(
    st.tuples(
        st.sampled_from([HEADER, "eddy-schema"]),
        st.none() | st.binary(max_size=40) | st.sampled_from([signed(b"v", OLD)[1], signed(b"v", NEW)[1]]),
    ),
    max_size=3,
)


@given(value=VALUES, keys=st.sampled_from([(NEW,), (OLD, NEW), (NEW, OLD)]))
def test_a_guard_obeys_what_is_signed_with_one_of_its_keys(value: bytes, keys: tuple[bytes, ...]) -> None:
    assert refusal(value, [signed(value, NEW)], keys) is None


@given(value=VALUES | st.just(b"v"), headers=HEADERS)
def test_the_guard_and_the_job_judge_a_signature_alike(
    value: bytes, headers: list[tuple[str, bytes | None]]
) -> None:
    for keys in ((NEW,), (OLD, NEW)):
        obeys = refusal(value, headers, keys) is None
        assert obeys is (verified(value, headers, keys) is Signature.VALID)


def test_without_a_key_a_guard_obeys_everybody() -> None:
    assert refusal(b"v", [], ()) is None
    assert refusal(b"v", [(HEADER, b"nonsense")], ()) is None


@pytest.mark.parametrize(
    ("headers", "why"),
    [
        ([], "it is not signed"),
        ([(HEADER, b"nonsense")], "its signature cannot be read"),
        ([signed(b"v", OLD)], "it is signed with another key"),
        ([signed(b"other", NEW)], "its signature is wrong"),
    ],
)
def test_a_guard_says_why_it_refuses(headers: list[tuple[str, bytes | None]], why: str) -> None:
    assert refusal(b"v", headers, (NEW,)) == why

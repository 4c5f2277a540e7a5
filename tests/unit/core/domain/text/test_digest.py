import hashlib
import string

from hypothesis import given
from hypothesis import strategies as st

from streams.core.domain.text.digest import digest


def test_digest_of_null_is_null():
    assert digest(None) is None


def test_known_value():
    assert digest("") == "e3b0c44298fc1c14"


@given(st.text())
def test_is_the_start_of_sha_256_over_utf_8(text):
    assert digest(text) == hashlib.sha256(text.encode()).hexdigest()[:16]


@given(st.text(st.characters(categories=["Cs", "Ll"])))
def test_text_that_utf_8_cannot_write_has_a_digest_too(text):
    found = digest(text)
    assert found is not None
    assert len(found) == 16
    assert set(found) <= set(string.hexdigits.lower())

"""What doctor says of the control loop."""

from __future__ import annotations

from streams.operate.doctor.check import CheckStatus
from streams.operate.doctor.examination import signing_check

KEY = b"a key of sixteen"


def test_a_key_is_named_by_its_id_and_never_shown():
    found = signing_check(KEY, 3)
    assert (found.status, found.said) == (
        CheckStatus.OK,
        "signed with the key 97e85fdf from here; 3 are held",
    )


def test_without_a_key_it_is_a_warning_once_commands_are_in_use():
    assert signing_check(None, 0).status is CheckStatus.OK
    found = signing_check(None, 1_200)
    assert found.status is CheckStatus.WARN
    assert "1,200 are held, and EDDY_COMMAND_KEY is not set here" in found.said

"""One record of the settings topic after another: what is good is taken, nothing stops the job."""

import logging
from dataclasses import replace
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.core.detectors.settings import DEFAULTS
from streams.core.proof import ProofFinding, prove
from streams.core.settings_document import LARGEST_VERSION, ShadowDocument, to_document
from streams.kafka.settings_feed import (
    LARGEST_DOCUMENT,
    announce_proofs,
    apply_document,
    apply_shadow,
    read_document,
)
from streams.worker.settings_ledger import LedgerEntry, SettingsLedger, ShadowEntry

IN_FORCE = apply_document(DEFAULTS, b'{"version": 3, "entropy_window_size": 7}')

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


def test_a_document_is_in_force_as_the_new_version() -> None:
    assert (IN_FORCE.version, IN_FORCE.entropy_window_size) == (3, 7)


def test_a_setting_that_is_left_out_has_its_default() -> None:
    after = apply_document(IN_FORCE, b'{"version": 4, "alert_every_record": false}')
    assert (after.version, after.entropy_window_size, after.alert_every_record) == (4, 5, False)


def test_a_bad_setting_keeps_its_value_and_the_rest_is_taken(caplog: pytest.LogCaptureFixture) -> None:
    after = apply_document(
        IN_FORCE, b'{"version": 4, "entropy_window_size": "9", "topology_every_record": false}'
    )
    assert (after.version, after.entropy_window_size, after.topology_every_record) == (4, 7, False)
    assert "entropy_window_size" in caplog.text


@pytest.mark.parametrize(
    "value",
    [
        None,
        b"",
        b"\xff\xfe",
        b"null",
        b"[]",
        b'"text"',
        b"{}",
        b'{"version": null}',
        b'{"version": 0}',
        b'{"version": -1}',
        b'{"version": true}',
        b'{"version": 4.0}',
        b'{"version": "4"}',
        b'{"version": 9007199254740993}',
        b'{"version": 9223372036854775808}',
        b'{"version": 3, "entropy_window_size": 9}',
        b'{"version": 2, "entropy_window_size": 9}',
        b"[" * 100_000,
    ],
)
def test_a_record_that_is_no_new_document_changes_nothing_and_is_told(
    value: bytes | None, caplog: pytest.LogCaptureFixture
) -> None:
    assert apply_document(IN_FORCE, value) is IN_FORCE
    assert [record.levelno for record in caplog.records] == [logging.WARNING]


@given(st.binary(max_size=60))
def test_no_bytes_stop_it(value: bytes) -> None:
    assert apply_document(IN_FORCE, value).version >= 3


@given(st.dictionaries(st.sampled_from(["version", "entropy_window_size", "changed", "x"]), JSON))
def test_no_document_stops_it(document: dict[str, Any]) -> None:
    after = apply_document(IN_FORCE, orjson.dumps(document))
    assert after is IN_FORCE or after.version == document["version"] > 3
    assert 1 <= after.entropy_window_size <= 1000


def test_two_readers_of_the_same_records_have_the_same_settings() -> None:
    values = [b"x", b'{"version": 1, "entropy_window_size": 2}', b'{"version": 9}', b'{"version": 2}', None]
    one = other = DEFAULTS
    for value in values:
        one = apply_document(one, value)
    for value in values:
        other = apply_document(other, value)
    assert one == other
    assert one.version == 9


def test_a_document_is_its_version_and_what_it_says() -> None:
    assert read_document(b'{"version": 2, "a": 1}') == (2, {"version": 2, "a": 1})


TRIED = apply_shadow(ShadowDocument(), b'{"version": 3, "entropy_window_size": 7}', 4)


def test_a_shadow_document_is_tried_out_and_a_later_one_takes_its_place() -> None:
    assert TRIED.settings is not None
    assert (TRIED.position, TRIED.version, TRIED.settings.version) == (5, 3, 3)
    assert TRIED.settings.entropy_window_size == 7
    after = apply_shadow(TRIED, b'{"version": 4, "entropy_window_size": 0, "cycle_loop": 9}', 5)
    assert after.settings is not None
    # What is bad keeps the value that was tried out before, as for the settings in force.
    assert (after.settings.entropy_window_size, after.settings.cycle_loop) == (7, 9)


@pytest.mark.parametrize("value", [None, b'{"version": 4}', b'{"version": 4, "changed": {"by": "ann"}}'])
def test_an_empty_document_and_a_tombstone_end_the_trial(value: bytes | None) -> None:
    after = apply_shadow(TRIED, value, 9)
    assert (after.position, after.settings) == (10, None)


def test_after_a_tombstone_versions_may_begin_anew_and_after_an_empty_document_they_go_on() -> None:
    first = orjson.dumps({"version": 1, **to_document(DEFAULTS)})
    after_tombstone = apply_shadow(apply_shadow(TRIED, None, 5), first, 6)
    assert (after_tombstone.version, after_tombstone.settings is not None) == (1, True)
    after_empty = apply_shadow(TRIED, b'{"version": 4}', 5)
    assert apply_shadow(after_empty, first, 6) is after_empty


@pytest.mark.parametrize("value", [b"", b"[]", b"{}", b'{"version": 3, "cycle_loop": 9}', b'{"version": 0}'])
def test_a_record_that_is_no_new_shadow_document_changes_nothing_and_is_told(
    value: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    assert apply_shadow(TRIED, value, 9) is TRIED
    assert [record.levelno for record in caplog.records] == [logging.WARNING]


async def test_only_a_rule_that_cannot_fire_is_worth_a_line_of_a_start(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    await announce_proofs(DEFAULTS)
    assert caplog.records == []
    await announce_proofs(replace(DEFAULTS, read_tools=(), identical_loop=101))
    assert [record.levelno for record in caplog.records] == [logging.WARNING]


async def test_a_rule_that_cannot_fire_is_a_warning_and_one_that_was_not_run_is_told_at_debug(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG, "streams")
    settings = replace(DEFAULTS, read_tools=(), identical_loop=101)
    await announce_proofs(settings, "In the shadow settings, ")
    counted, dead, *others = caplog.records
    proven = [each.finding is ProofFinding.PROVEN for each in prove(settings)]
    assert counted.message == (
        f"In the shadow settings, {sum(proven)} of {len(proven)} rules and levels proved that they can fire."
    )
    assert dead.levelno == logging.WARNING
    assert dead.message.startswith("In the shadow settings, A3:read_loop can never reach WARNING: ")
    (long,) = others
    assert long.levelno == logging.DEBUG
    assert long.message == (
        "In the shadow settings, R1 is not proven to reach LOOP: "
        "101 records are more than the 100 that are run."
    )


def test_a_document_that_no_ledger_could_keep_is_not_taken(caplog: pytest.LogCaptureFixture) -> None:
    policies = {f"tool-{number}-*": {"mode": "exempt"} for number in range(10_000)}
    value = orjson.dumps({"version": 4, "tool_policies": policies})
    assert len(value) > LARGEST_DOCUMENT
    assert apply_document(IN_FORCE, value) is IN_FORCE
    assert f"it has {len(value)} bytes, a document may have {LARGEST_DOCUMENT}" in caplog.text
    tried = ShadowDocument(5, 3, IN_FORCE)
    assert apply_shadow(tried, value, 9) is tried


def test_the_largest_document_is_kept_by_a_ledger_while_it_changes() -> None:
    globs: list[str] = []
    while len(orjson.dumps({"version": 9, "read_tools": [*globs, "x" * 1000]})) <= LARGEST_DOCUMENT:
        globs.append(f"{len(globs):1000}")
    value = orjson.dumps({"version": 9, "read_tools": globs})
    settings = apply_document(IN_FORCE, value)
    assert len(settings.read_tools) == len(globs)
    entries = tuple(LedgerEntry(number, replace(settings, version=9 + number)) for number in range(10))
    tried = tuple(ShadowEntry(entry.first_offset, 0, ShadowDocument(9, 9, settings)) for entry in entries)
    # What a changelog takes, see topics/topics.yaml.
    assert len(SettingsLedger(entries, 0, tried).encode()) < 8 << 20


def test_a_document_at_the_end_of_the_versions_is_not_the_last() -> None:
    values = [b'{"version": %d}' % LARGEST_VERSION, b'{"version": 1}', b'{"version": 2, "cycle_loop": 9}']
    after = DEFAULTS
    for value in values:
        after = apply_document(after, value)
    assert (after.version, after.cycle_loop) == (2, 9)


def test_a_document_far_ahead_is_ignored(caplog: pytest.LogCaptureFixture) -> None:
    assert apply_document(IN_FORCE, b'{"version": %d}' % LARGEST_VERSION) is IN_FORCE
    assert "does not follow version 3, which is in force" in caplog.text


def test_a_document_of_nothing_but_mistakes_makes_few_log_lines(caplog: pytest.LogCaptureFixture) -> None:
    document = {"version": 4} | {f"x{number}": 1 for number in range(20_000)}
    assert apply_document(IN_FORCE, orjson.dumps(document)).version == 4
    assert len(caplog.records) == 21
    assert "And 19980 more parts of the document are not taken." in caplog.text


def test_patterns_that_take_long_to_search_are_not_taken(caplog: pytest.LogCaptureFixture) -> None:
    document = {"version": 4, "read_tools": [f"[a-z]*{number}?" for number in range(10_000)]}
    after = apply_document(IN_FORCE, orjson.dumps(document))
    assert (after.version, after.read_tools) == (4, IN_FORCE.read_tools)
    assert "at most 2000 characters in patterns other than name" in caplog.text

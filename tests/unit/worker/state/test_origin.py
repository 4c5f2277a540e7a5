"""State of one topic is refused on another, with what to do."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from streams.core.errors import StateError
from streams.worker.state.origin import Origin, decode_sources, encode_sources
from streams.worker.state.store import PartitionStores, StoreOptions

CHANGELOG = "eddy-sessions-changelog"


@pytest.fixture
def origin(tmp_path: Path) -> Origin:
    return Origin("eddy", ["eddy-aggregates-repartition", CHANGELOG], tmp_path)


@pytest.fixture
def stores(tmp_path: Path) -> Iterator[PartitionStores]:
    stores = PartitionStores(tmp_path / "sessions", StoreOptions())
    yield stores
    for store in stores.opened().values():
        store.close()


# -- what is stored of the topics ----------------------------------------------------------------------------


@pytest.mark.parametrize("ids", [{}, {"decision-logs": "AAECAwQFBgcICQoLDA0ODw"}, {"b": "2", "a": "1"}])
def test_what_was_stored_is_read_again(ids: dict[str, str]) -> None:
    assert decode_sources(encode_sources(ids)) == ids


def test_equal_topics_give_equal_bytes_whatever_their_order() -> None:
    assert encode_sources({"a": "1", "b": "2"}) == encode_sources({"b": "2", "a": "1"})


def test_nothing_stored_means_nothing_known() -> None:
    assert decode_sources(None) == {}


def test_a_newer_format_asks_for_the_newer_version() -> None:
    with pytest.raises(StateError, match=r"format 2, this version of Eddy reads 1\. Start the newer"):
        decode_sources(b'[2,{"a":"1"}]')


@pytest.mark.parametrize("stored", [b"", b"\xff", b"{}", b"[]", b"[1]", b'[1,{"a":1}]', b'[0,{"a":"1"}]'])
def test_damage_is_told_with_what_to_do(stored: bytes) -> None:
    with pytest.raises(StateError, match=r"msources of a changelog cannot be read\. Delete the data"):
        decode_sources(stored)


# -- what state was built from -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("known", "now"),
    [
        ({"a": "1"}, {"a": "1"}),
        ({"a": "1"}, {"a": "1", "b": "2"}),
        ({"a": None}, {"a": "1"}),
        ({"a": "1"}, {"a": None}),
        ({"a": "1"}, {}),
        ({}, {"a": "1"}),
    ],
    ids=["same", "one more", "not known then", "not known now", "gone", "nothing known"],
)
def test_state_of_topics_that_may_be_the_same_is_accepted(
    origin: Origin, known: dict[str, str | None], now: dict[str, str | None]
) -> None:
    origin.check_sources(known, now, state="the state of decision-logs[3]")


def test_state_of_another_topic_is_refused_with_both_ids_and_what_to_do(origin: Origin) -> None:
    with pytest.raises(StateError) as refused:
        origin.check_sources({"a": "1", "b": "old"}, {"a": "1", "b": "new"}, state="what is in b[3]")
    said = str(refused.value)
    assert "Topic b was deleted and created again: it has the id new now, what is in b[3] was" in said
    assert "the id old" in said
    assert said.endswith(origin.anew)


def test_how_to_begin_anew_names_every_topic_the_directory_and_the_command(
    origin: Origin, tmp_path: Path
) -> None:
    for words in ("EDDY_APPLICATION_ID than eddy", CHANGELOG, "eddy-aggregates-repartition", str(tmp_path)):
        assert words in origin.anew
    assert "`eddy topics apply`" in origin.anew


# -- what a database was filled from -------------------------------------------------------------------------


def test_a_database_takes_the_id_of_its_first_changelog_and_refuses_another(
    origin: Origin, stores: PartitionStores
) -> None:
    origin.check_local(stores, CHANGELOG, [0], {CHANGELOG: "1"})
    assert stores[0].changelog() == "1"
    origin.check_local(stores, CHANGELOG, [0, 1], {CHANGELOG: "1"})
    with pytest.raises(StateError) as refused:
        origin.check_local(stores, CHANGELOG, [1, 0], {CHANGELOG: "2"})
    said = str(refused.value)
    assert f"Topic {CHANGELOG} was deleted and created again: it has the id 2 now" in said
    assert f"delete {stores.directory}" in said
    assert said.endswith(origin.anew)


def test_where_brokers_give_no_ids_databases_are_not_even_opened(
    origin: Origin, stores: PartitionStores
) -> None:
    origin.check_local(stores, CHANGELOG, [0], {CHANGELOG: None})
    origin.check_local(stores, CHANGELOG, [0], {})
    assert stores.opened() == {}

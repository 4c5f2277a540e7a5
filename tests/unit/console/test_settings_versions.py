"""What documents on the settings topics add up to: the same as for a worker that reads them."""

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.console.read_model.rows import VersionRow
from streams.console.settings_versions import Settings, settings_of
from streams.core.detectors.settings import DEFAULTS
from streams.core.domain.topic import Topic
from streams.core.settings_document import ShadowDocument
from streams.kafka.settings_feed import apply_document, apply_shadow

DOCUMENTS = st.lists(
    st.one_of(
        st.none(),
        st.fixed_dictionaries(
            {"version": st.one_of(st.integers(1, 9), st.just("x"))},
            optional={
                "cycle_loop": st.sampled_from([2, 4, "many"]),
                "cycle_warn": st.sampled_from([2, 9]),
                "no_setting": st.just(1),
                "changed": st.just({"by": "ana", "at": 1, "why": "to see"}),
            },
        ),
    ),
    max_size=8,
)


def told(topic: Topic, documents: list[dict[str, object] | None]) -> Settings:
    rows = {}
    for offset, document in enumerate(documents):
        body = None if document is None else orjson.dumps(document).decode()
        rows[(str(topic), offset)] = VersionRow(str(topic), offset, 0, 0, None, None, None, body)
    return settings_of(dict(reversed(rows.items())))


@given(DOCUMENTS)
def test_what_is_in_force_is_what_a_worker_has_in_force(documents: list[dict[str, object] | None]) -> None:
    settings = DEFAULTS
    for document in documents:
        settings = apply_document(settings, None if document is None else orjson.dumps(document))
    assert told(Topic.DETECTOR_CONFIG, documents).in_force == settings


@given(DOCUMENTS)
def test_what_is_tried_out_is_what_a_worker_tries_out(documents: list[dict[str, object] | None]) -> None:
    tried = ShadowDocument()
    for offset, document in enumerate(documents):
        tried = apply_shadow(tried, None if document is None else orjson.dumps(document), offset)
    assert told(Topic.SHADOW_CONFIG, documents).tried == tried.settings


def test_each_version_says_what_it_changed_and_what_of_it_was_refused() -> None:
    found = told(
        Topic.DETECTOR_CONFIG,
        [
            {"version": 1, "cycle_loop": 4},
            {"version": 1, "cycle_loop": 9},
            {"version": 2, "cycle_loop": "many"},
        ],
    )
    first, second, third = found.history
    assert first.changed == {"cycle_loop": (3, 4)}
    assert second.ignored == "version 1 does not follow version 1"
    assert not third.ignored
    assert [each.setting for each in third.warnings] == ["cycle_loop"]
    assert found.in_force.cycle_loop == 4


def test_a_version_can_be_found_again_and_the_defaults_are_version_0() -> None:
    found = told(Topic.DETECTOR_CONFIG, [{"version": 1, "cycle_loop": 4}, {"version": 2, "cycle_loop": 5}])
    assert (one := found.version(1)) is not None
    assert one.cycle_loop == 4
    assert found.version(0) is DEFAULTS
    assert found.version(7) is None
    assert found.set_by()["cycle_loop"].row.offset == 1


@pytest.mark.parametrize("topic", [Topic.DETECTOR_CONFIG, Topic.SHADOW_CONFIG])
def test_documents_of_other_topics_count_for_nothing(topic: Topic) -> None:
    found = told(Topic.INTERVENTION_POLICY, [{"version": 1, "cycle_loop": 4}])
    assert found == Settings(), topic

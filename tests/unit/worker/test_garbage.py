"""What the worker asks of the garbage collector."""

import gc
import weakref
from collections.abc import Iterator

import pytest

from streams.worker.garbage import THRESHOLDS, collect_rarely


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)
    gc.unfreeze()


def test_what_there_is_is_left_alone_and_what_follows_is_looked_at_rarely() -> None:
    collect_rarely()
    assert gc.get_freeze_count() > 0
    assert gc.get_threshold() == THRESHOLDS
    assert gc.isenabled()


def test_cycles_are_still_found() -> None:
    class Node:
        pass

    collect_rarely()
    node = Node()
    node.itself = node
    gone = weakref.ref(node)
    del node
    gc.collect()
    assert gone() is None

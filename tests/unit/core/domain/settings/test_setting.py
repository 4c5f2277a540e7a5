from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from streams.core.domain.settings.range import whole
from streams.core.domain.settings.setting import declared_by, setting


@dataclass(frozen=True, kw_only=True)
class Base:
    version: int = 0
    limit: int = setting(3, whole(1, 9), "How many.")


@dataclass(frozen=True, kw_only=True)
class Own(Base):
    limits: Mapping[str, int] = setting(MappingProxyType({"a": 1}), whole(1, 9), "How many of each.")


def test_a_class_declares_its_own_settings_and_none_of_its_bases() -> None:
    assert list(declared_by(Base)) == ["limit"]
    assert list(declared_by(Own)) == ["limits"]
    assert declared_by(object) == {}


def test_range_and_meaning_stand_beside_the_default() -> None:
    found = declared_by(Base)["limit"]
    assert (found.meaning, found.allowed.wanted) == ("How many.", "an integer from 1 to 9")
    assert Base().limit == 3


def test_a_map_is_a_default_that_two_equal_values_share_a_hash_with() -> None:
    assert Own().limits == {"a": 1}
    assert hash(Own()) == hash(Own(limits=MappingProxyType({"b": 2})))
    assert hash(Own()) != hash(replace(Own(), limit=4))

"""What is made of a setting is made once for each object, and never mixed up."""

from streams.core.domain.tool_class import ByIdentity


class Unhashed(list[int]):
    """A setting that nobody can afford to compare."""

    def __eq__(self, other: object) -> bool:
        raise AssertionError("compared")

    __hash__ = None  # type: ignore[assignment]


def test_the_same_object_is_looked_at_once() -> None:
    made: list[int] = []

    def make(setting: Unhashed) -> int:
        made.append(len(setting))
        return len(setting)

    known = ByIdentity(make)
    setting = Unhashed([1, 2])
    assert [known.of(setting) for _ in range(3)] == [2, 2, 2]
    assert known.of(Unhashed([1])) == 1
    assert made == [2, 1]


def test_more_objects_than_are_remembered_do_not_get_mixed_up() -> None:
    known: ByIdentity[list[int], int] = ByIdentity(sum)
    for _ in range(2):
        assert [known.of([number]) for number in range(1_000)] == list(range(1_000))

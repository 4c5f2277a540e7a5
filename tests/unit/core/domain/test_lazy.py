from streams.core.domain.lazy import lazy


class Counted:
    def __init__(self) -> None:
        self.computed = 0

    @lazy
    def value(self) -> int:
        """Say what it is."""
        self.computed += 1
        return 7


def test_it_is_computed_when_first_read_and_never_again() -> None:
    counted = Counted()
    assert counted.computed == 0
    assert (counted.value, counted.value, counted.computed) == (7, 7, 1)


def test_each_object_has_its_own() -> None:
    one, other = Counted(), Counted()
    assert one.value == other.value
    assert (one.computed, other.computed) == (1, 1)


def test_of_the_class_it_is_the_descriptor_with_its_docstring() -> None:
    assert isinstance(Counted.value, lazy)
    assert Counted.value.__doc__ == "Say what it is."

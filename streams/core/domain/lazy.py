"""Values that are computed when first read, and then kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


class lazy(Generic[T]):  # noqa: N801 - reads as the decorator it is
    """A property computed at most once per object.

    Like `functools.cached_property`, without the lock that Python 3.11 takes on every first access.

    >>> class Circle:
    ...     @lazy
    ...     def area(self) -> float:
    ...         print("computing")
    ...         return 3.0
    >>> circle = Circle()
    >>> circle.area, circle.area
    computing
    (3.0, 3.0)
    """

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self.compute = compute
        self.__doc__ = compute.__doc__
        self.name = compute.__name__

    @overload
    def __get__(self, instance: None, owner: type) -> lazy[T]: ...

    @overload
    def __get__(self, instance: object, owner: type) -> T: ...

    def __get__(self, instance: object | None, owner: type) -> lazy[T] | T:
        if instance is None:
            return self
        value = self.compute(instance)
        # The instance dictionary shadows this descriptor from now on: later reads cost nothing extra.
        instance.__dict__[self.name] = value
        return value

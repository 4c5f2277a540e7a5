"""What sessions cost by a table of prices: for logs that tell tokens and no cost.

The table is a file of its user, as of a day; nobody fetches one. A session whose log names a model without a
price has no cost from there on: part of a cost would look like all of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from typing import Any, Final, NamedTuple

from streams.core.domain.text.glob import Globs, are_affordable
from streams.core.entry import Entry
from streams.core.errors import ConfigurationError
from streams.formats.adapters.adapter import Adapter, Format, IntakeReason, Problem

_PARTS: Final = ("input", "cache_write", "output", "cache_read")
_MILLION: Final = 1_000_000
_DEAREST: Final = 1e6
_MOST_MODELS: Final = 1_000
_DIGITS: Final = 6


class ModelPrice(NamedTuple):
    """What a million tokens of a model cost, by kind, in the order of a usage's parts."""

    input: float
    cache_write: float
    output: float
    cache_read: float


class Prices(NamedTuple):
    """A table of prices.

    Attributes:
        as_of: the day on which the prices were looked up.
        models: prices by pattern of the model's name; the first that fits counts.
    """

    as_of: str
    models: tuple[tuple[Globs, ModelPrice], ...]

    def of(self, model: str) -> ModelPrice | None:
        """Return the price of a model, None without one."""
        return next((price for names, price in self.models if names.match(model)), None)

    def cost(self, spent: Mapping[str, Sequence[int]]) -> float | None:
        """Return what tokens by model cost, None where one that was used has no price.

        >>> table = parse_prices(b"{as_of: 2026-11-01, models: {opus*: {input: 5, output: 25}}}")
        >>> table.cost({"opus-5": (200_000, 0, 10_000, 0)})
        1.25
        >>> table.cost({"opus-5": (200_000, 0, 10_000, 0), "sonnet-5": (1, 0, 0, 0)}) is None
        True
        """
        return _cost(spent, self.of)


def _cost(spent: Mapping[str, Sequence[int]], price_of: Callable[[str], ModelPrice | None]) -> float | None:
    total = 0.0
    for model, counts in spent.items():
        if not any(counts):
            continue
        price = price_of(model) if model else None
        if price is None:
            return None
        total += sum(count * each for count, each in zip(counts, price, strict=True))
    return round(total / _MILLION, _DIGITS)


def parse_prices(text: bytes) -> Prices:
    """Return the table that a file of prices holds.

    A cache_write that is left out costs as much as input, a cache_read as well.

    Raises:
        ConfigurationError: with one sentence that says what is wrong with the file.
    """
    import yaml  # noqa: PLC0415 - few commands need it

    try:
        given = yaml.safe_load(text)
    except (yaml.YAMLError, UnicodeDecodeError, ValueError, RecursionError) as error:
        raise ConfigurationError(f"The prices cannot be read: {' '.join(str(error).split())}.") from error
    match given:
        case {"as_of": date() as day, "models": dict(models)} if len(given) == 2 and type(day) is date:
            pass
        case _:
            raise ConfigurationError(
                "The prices need `as_of`, the day on which they were looked up, such as 2026-11-01, and "
                "`models`, prices by name of the model; nothing else."
            )
    if not models or len(models) > _MOST_MODELS:
        raise ConfigurationError(f"`models` of the prices must have 1 to {_MOST_MODELS:,} names.")
    return Prices(day.isoformat(), tuple(_model(name, price) for name, price in models.items()))


def _model(name: Any, given: Any) -> tuple[Globs, ModelPrice]:
    if not isinstance(name, str) or not name or not are_affordable([name]):
        raise ConfigurationError(f"{str(name)[:80]!r} in the prices is no name of a model, and no pattern.")
    if not isinstance(given, dict) or not {"input", "output"} <= set(given) <= set(_PARTS):
        raise ConfigurationError(
            f"The price of {name[:80]!r} among the prices needs `input` and `output`, and may have "
            "`cache_write` and `cache_read`: what a million tokens cost."
        )
    for part, price in given.items():
        known = isinstance(price, int | float) and not isinstance(price, bool) and 0 <= price <= _DEAREST
        if not known:
            raise ConfigurationError(
                f"`{part}` of {name[:80]!r} in the prices must be a number from 0 to {_DEAREST:,.0f}."
            )
    sent = float(given["input"])
    parts = [float(given.get(part, sent)) for part in _PARTS]
    return Globs([name]), ModelPrice(*parts)


class PricedAdapter:
    """An adapter whose records have a cost by a table, unless their source tells one.

    Args:
        adapter: What reads the input.
        prices: The table that costs follow from.
    """

    def __init__(self, adapter: Adapter, prices: Prices) -> None:
        self._adapter, self._prices = adapter, prices
        self._missed: set[str] = set()
        self._known: dict[str, ModelPrice | None] = {}

    @property
    def ignored(self) -> Counter[str]:
        """What was left out by design, by type."""
        return self._adapter.ignored

    @ignored.setter
    def ignored(self, ignored: Counter[str]) -> None:
        self._adapter.ignored = ignored

    def feed(self, unit: bytes) -> Iterator[Entry | Problem]:
        """Yield what one unit completes, with its cost."""
        return self._priced(self._adapter.feed(unit))

    def close(self) -> Iterator[Entry | Problem]:
        """Yield what still waits, with its cost."""
        return self._priced(self._adapter.close())

    def state(self) -> bytes:
        """Return the state of the adapter: a cost follows from what was counted."""
        return self._adapter.state()

    def _priced(self, found: Iterator[Entry | Problem]) -> Iterator[Entry | Problem]:
        for each in found:
            if isinstance(each, Problem) or each.value is None or not each.spent:
                yield each
                continue
            delta = each.value.get("state_delta") or {}
            if delta.get("cumulative_session_cost") is not None:
                yield each
                continue
            cost = _cost(each.spent, self._price)
            if cost is None:
                yield from self._without_price(each)
                yield each
            else:
                delta = {**delta, "cumulative_session_cost": cost}
                yield each._replace(value={**each.value, "state_delta": delta})

    def _price(self, model: str) -> ModelPrice | None:
        if model not in self._known:
            if len(self._known) >= _MOST_MODELS:
                self._known.clear()
            self._known[model] = self._prices.of(model)
        return self._known[model]

    def _without_price(self, entry: Entry) -> Iterator[Problem]:
        """Yield a problem for each model that has no price, once."""
        for model, counts in entry.spent.items():
            if any(counts) and model not in self._missed and (not model or self._price(model) is None):
                self._missed.add(model)
                said = f"no price of the model {model[:80]}" if model else "the log does not name the model"
                yield Problem(entry.key or "", IntakeReason.NO_PRICE, said)


def priced(form: Format, prices: Prices) -> Format:
    """Return a format whose records have a cost by a table.

    Args:
        form: A format; those of Eddy itself, and containers, stay as they are.
        prices: The table that costs follow from.
    """
    if form.own or form.container is not None:
        return form
    return form._replace(
        start=lambda name: PricedAdapter(form.start(name), prices),
        resume=lambda name, state: PricedAdapter(form.resume(name, state), prices),
    )

"""Conditions on one column: some of its categories, or numbers on one side of a bound."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from ...errors import DataError
from ...later import np
from ..attributes.attribute import Attribute
from ..attributes.boolean import BooleanAttribute
from ..attributes.categorical import CategoricalAttribute, Category
from ..attributes.dates import DateAttribute
from ..attributes.numeric import is_number
from ..values import number_or_nan, text_of
from .plain import extent, numbers, texts

if TYPE_CHECKING:
    from numpy.typing import NDArray

Array: TypeAlias = "NDArray[np.float64]"
Mask: TypeAlias = "NDArray[np.bool_]"

_COMPARED: Mapping[str, Callable[[Array, float], Mask]] = {
    "below": lambda found, bound: found < bound,
    "above": lambda found, bound: found > bound,
    "at_least": lambda found, bound: found >= bound,
    "at_most": lambda found, bound: found <= bound,
    "equal": lambda found, bound: found == bound,
    "not": lambda found, bound: (found != bound) & ~np.isnan(found),
}

COMPARISONS = tuple(_COMPARED)
"""Names of comparisons in a domain file."""


@dataclass(frozen=True)
class Condition:
    """A condition on the values of one column; it does not hold for missing values unless it lists them.

    Attributes:
        column: its name.
        listed: categories or numbers, one of which it needs; None stands for a missing value.
        compared: otherwise, comparisons that all have to hold: a key such as "below" and a bound, of dates in
            ISO 8601.
    """

    column: str
    listed: tuple[Category | None, ...] = ()
    compared: tuple[tuple[str, float | str], ...] = ()

    @classmethod
    def of_json(cls, column: str, form: object) -> Condition:
        """Reads a list of categories, or an object such as {"above": 0}.

        Raises:
            DataError: it is neither.
        """
        if isinstance(form, list) and form and all(_is_category(value) for value in form):
            return cls(column, listed=tuple(form))
        if (
            isinstance(form, Mapping)
            and form
            and set(form) <= set(_COMPARED)
            and all(_is_bound(bound) for bound in form.values())
        ):
            return cls(column, compared=tuple((key, bound) for key, bound in form.items()))
        raise DataError(
            f"rules: expected for {column!r} a list of categories, with null for a missing value, or an "
            f"object with numbers or dates as {', '.join(_COMPARED)}; fix the rule"
        )

    def to_json(self) -> list[Category | None] | dict[str, float | str]:
        """As in a domain file."""
        return dict(self.compared) if self.compared else list(self.listed)

    def check(self, attribute: Attribute) -> None:
        """Refuses a condition that the codes of the attribute cannot tell.

        Raises:
            DataError: an unknown category, or a bound inside a bin.
        """
        reached = extent(attribute)
        if not _are_listed(attribute, self.listed):
            yes_or_no = isinstance(attribute, BooleanAttribute)
            raise DataError(
                f"rules: {self.column!r} has no category, atom or missing value that a rule lists; "
                + ("list true, false or, if it may be missing, null" if yes_or_no else "add it to the domain")
                + ", or fix the rule"
            )
        for _, text in self.compared:
            if np.isnan(reached).all() or isinstance(attribute, DateAttribute) is not isinstance(text, str):
                raise DataError(
                    f"rules: {self.column!r} is compared with something else than it holds; compare numbers "
                    "with numbers and dates with dates, or list categories"
                )
        if divided := self.inside_bins(attribute):
            raise DataError(
                f"rules: the bound {divided[0]} of {self.column!r} lies inside a bin; declare it as an atom "
                "or an edge, or choose another"
            )

    def inside_bins(self, attribute: Attribute) -> tuple[float | str, ...]:
        """The bounds that lie inside a bin, so that its code does not tell whether the condition holds."""
        reached = extent(attribute)
        found = []
        for key, text in self.compared:
            bound = _bound(text)
            if key in ("equal", "not"):
                divided = (
                    (reached[:, 0] <= bound) & (reached[:, 1] >= bound) & (reached[:, 0] < reached[:, 1])
                )
            else:
                divided = np.logical_xor(*_COMPARED[key](reached, bound).T)
            if divided.any():
                found.append(text)
        return tuple(found)

    def of_codes(self, attribute: Attribute) -> Mask:
        """For each code whether it holds, shape (size,)."""
        if self.listed:
            return _listed_codes(attribute, self.listed)
        return self._compare(extent(attribute)[:, 0])

    def of_values(self, values: NDArray[Any]) -> Mask:
        """For each value, as `plain` gives it, whether it holds; shape (N,)."""
        if self.compared:
            return self._compare(numbers(values))
        wanted = {text_of(value) for value in self.listed}
        if values.dtype.kind != "f":
            return np.isin(values.astype(str), list(wanted))
        listed: Mask = np.isin(values, [number_or_nan(text) for text in wanted if text])
        return listed | np.isnan(values) if "" in wanted else listed

    def boundaries(self, attribute: Attribute) -> tuple[int, ...]:
        """The codes that differ from the one before in whether it holds, among those with a number."""
        held = self.of_codes(attribute)[~np.isnan(extent(attribute)[:, 0])]
        return tuple((1 + np.flatnonzero(np.diff(held))).tolist())

    def _compare(self, found: Array) -> Mask:
        held = [_COMPARED[key](found, _bound(bound)) for key, bound in self.compared]
        return np.asarray(np.all(held, axis=0))


def _listed_codes(attribute: Attribute, listed: tuple[Category | None, ...]) -> Mask:
    wanted = {text_of(value) for value in listed}
    if isinstance(attribute, (CategoricalAttribute, BooleanAttribute)):
        return np.isin(texts(attribute), list(wanted))
    reached = extent(attribute)
    single = reached[:, 0] == reached[:, 1]
    found: Mask = single & np.isin(reached[:, 0], [number_or_nan(text) for text in wanted if text])
    return found | np.isnan(reached[:, 0]) if "" in wanted else found


def _are_listed(attribute: Attribute, listed: tuple[Category | None, ...]) -> bool:
    """Whether each of the values has a code of its own."""
    wanted = {text_of(value) for value in listed}
    if isinstance(attribute, (CategoricalAttribute, BooleanAttribute)):
        return wanted <= set(texts(attribute))
    reached = extent(attribute)
    known = set(reached[reached[:, 0] == reached[:, 1], 0].tolist())
    without = np.isnan(reached[:, 0]).any()
    return all(number_or_nan(text) in known if text else without for text in wanted)


def _bound(bound: float | str) -> float:
    """A bound as a number; of a date, microseconds since 1970."""
    return float(np.datetime64(bound, "us").astype(np.int64)) if isinstance(bound, str) else bound


def _is_category(value: object) -> bool:
    return value is None or isinstance(value, (str, bool)) or is_number(value)


def _is_bound(value: object) -> bool:
    if not isinstance(value, str):
        return is_number(value)
    try:
        return not np.isnat(np.datetime64(value, "us"))
    except ValueError:
        return False

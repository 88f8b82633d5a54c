"""Functional dependencies: the value of one column determines that of another."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ...errors import DataError
from ...later import np
from ..attributes.attribute import Attribute
from ..attributes.categorical import CategoricalAttribute, Category, CodedAttribute
from ..values import text_of
from .plain import absent_codes, extent, texts
from .rule import Codes, Mask, Rule, check_columns

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..domain import Clique, Domain


@dataclass(frozen=True)
class Determines(Rule):
    """Rows with the same value of one column have the same value of another.

    In a domain file: `{"determines": {"from": "zip", "to": "state"}, "map": {"100": "NY"}}`. The map is
    optional: without it each release learns one from its own model, at no cost. A missing value determines
    nothing, nor does a value that a given map does not list.

    Attributes:
        determinant: column whose value determines the other.
        dependent_column: column that is determined. Both have categories, or bins of one value.
        pairs: public map, value -> value; None to learn it.
    """

    determinant: str
    dependent_column: str
    pairs: tuple[tuple[str, Category], ...] | None = None

    @property
    def columns(self) -> Clique:
        """The determinant, then the column that it determines."""
        return (self.determinant, self.dependent_column)

    def check(self, domain: Domain) -> None:
        """See `Rule.check`."""
        check_columns(domain, self.columns, 2)
        for name in self.columns:
            reached = extent(domain[name])
            if np.any(reached[:, 0] < reached[:, 1]):
                raise DataError(
                    f"rules: a bin of {name!r} holds several values, and no dependency can be stated for it; "
                    "list categories, or declare bins of one value"
                )
        self._codes(domain)

    def check_absent(self, domain: Domain) -> None:
        """See `Rule.check_absent`."""
        if isinstance(domain[self.dependent_column], CodedAttribute):
            raise DataError(
                f"rules: {self.dependent_column!r} holds codes, which cannot tell people whom its party does "
                'not have; list categories, or choose population = "everywhere"'
            )

    def forbids(self, domain: Domain, codes: Mapping[str, Codes]) -> Mask:
        """See `Rule.forbids`; nothing without a map."""
        found, determined = (codes[name] for name in self.columns)
        if self.pairs is None:
            return np.zeros(np.broadcast_shapes(found.shape, determined.shape), dtype=np.bool_)
        wanted = self._codes(domain)[found]
        absent = absent_codes(domain[self.dependent_column])[determined]
        return np.asarray((wanted >= 0) & (wanted != determined) & ~absent)

    def broken(self, columns: Mapping[str, NDArray[Any]], domain: Domain) -> Mask:
        """See `Rule.broken`; without a map, rows whose value is not the most frequent one of theirs."""
        names, groups = _distinct(columns[self.determinant])
        found, values = _distinct(columns[self.dependent_column])
        if self.pairs is None:
            wanted = _most_frequent(groups, values, len(found))
            wanted[[place for place, text in enumerate(names) if text == ""]] = -1
        else:
            known = {text: text_of(category) for text, category in self.pairs}
            places = {text: place for place, text in enumerate(found)}
            wanted = np.array([places.get(known[n], len(found)) if n in known else -1 for n in names])
        return np.asarray((wanted[groups] >= 0) & (wanted[groups] != values))

    def to_json(self) -> dict[str, Any]:
        """See `Rule.to_json`."""
        form: dict[str, Any] = {"determines": {"from": self.determinant, "to": self.dependent_column}}
        return form | ({} if self.pairs is None else {"map": dict(self.pairs)})

    def dependent(self, domain: Domain, codes: Mapping[str, Codes]) -> dict[str, Codes]:
        """The mapped codes; see `Rule.dependent`."""
        if self.pairs is None:
            return {}
        found, determined = (codes[name] for name in self.columns)
        wanted = self._codes(domain)[found]
        absent = absent_codes(domain[self.dependent_column])[determined]
        return {self.dependent_column: np.where((wanted < 0) | absent, determined, wanted)}

    def with_map(self, domain: Domain, codes: NDArray[np.int64]) -> Determines:
        """This dependency with a map.

        Args:
            domain: of the codes.
            codes: the determined code of each code of the determinant.
        """
        attribute = domain[self.determinant]
        values, determined = texts(attribute), texts(domain[self.dependent_column])
        # Many values share the category for all others, and each determines its own.
        free = {"", attribute.other if isinstance(attribute, CategoricalAttribute) else None}
        pairs = zip(values, (determined[code] for code in codes.tolist()), strict=True)
        return replace(self, pairs=tuple((value, found) for value, found in pairs if value not in free))

    def _codes(self, domain: Domain) -> NDArray[np.int64]:
        """The determined code of each code of the determinant; -1 for none.

        Raises:
            DataError: the map lists a value that the domain lacks.
        """
        return _code_map(domain[self.determinant], domain[self.dependent_column], self.pairs or ())


def _distinct(values: NDArray[Any]) -> tuple[list[str], NDArray[np.int64]]:
    """The distinct texts of plain values, and which each row has."""
    known, position = np.unique(
        values if values.dtype.kind == "f" else values.astype(str), return_inverse=True
    )
    return list(map(text_of, known.tolist())), position


def _most_frequent(groups: NDArray[np.int64], values: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """For each group its most frequent value of 0 to size - 1, the least if there are several."""
    cells, counts = np.unique(groups * size + values, return_counts=True)
    order = np.lexsort((cells, -counts))
    found = np.zeros(int(groups.max(initial=-1)) + 1, dtype=np.int64)
    found[cells[order][::-1] // size] = cells[order][::-1] % size
    return found


@functools.lru_cache(maxsize=64)
def _code_map(
    determinant: Attribute, dependent: Attribute, pairs: tuple[tuple[str, Category], ...]
) -> NDArray[np.int64]:
    known, targets = _code_of_text(determinant), _code_of_text(dependent)
    found = np.full(determinant.size, -1, dtype=np.int64)
    for value, determined in pairs:
        if value not in known or text_of(determined) not in targets:
            if determinant.open or dependent.open:
                # The release has not chosen the categories yet.
                continue
            raise DataError(
                f"rules: the map from {determinant.name!r} to {dependent.name!r} lists a value that the "
                "domain lacks; add it to the categories or fix the map"
            )
        found[known[value]] = targets[text_of(determined)]
    return found


def _code_of_text(attribute: Attribute) -> dict[str, int]:
    """The code of each category, or of each number that has a code of its own."""
    return {text: code for code, text in enumerate(texts(attribute))}

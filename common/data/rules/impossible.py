"""Values that never occur together, and values that are missing under a condition."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ...errors import DataError
from ...later import np
from ..attributes.attribute import Attribute
from ..attributes.numeric import NumericAttribute, is_number
from .condition import Condition
from .plain import absent_codes
from .rule import Codes, Mask, Rule, check_columns

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..domain import Clique, Domain


@dataclass(frozen=True)
class Impossible(Rule):
    """Conditions on two or more columns that no row meets together.

    In a domain file: `{"impossible": {"sex": ["Male"], "relationship": ["Wife"]}}`; for numbers
    `{"impossible": {"gain": {"above": 0}, "loss": {"above": 0}}}`.
    """

    conditions: tuple[Condition, ...]

    @property
    def columns(self) -> Clique:
        """The columns of the conditions."""
        return tuple(condition.column for condition in self.conditions)

    def check(self, domain: Domain) -> None:
        """See `Rule.check`."""
        check_columns(domain, self.columns, 2)
        for condition in self.conditions:
            condition.check(domain[condition.column])

    def forbids(self, domain: Domain, codes: Mapping[str, Codes]) -> Mask:
        """See `Rule.forbids`."""
        return met(self.conditions, domain, codes)

    def broken(self, columns: Mapping[str, NDArray[Any]], domain: Domain) -> Mask:
        """See `Rule.broken`."""
        return _met_by_values(self.conditions, columns)

    def to_json(self) -> dict[str, Any]:
        """See `Rule.to_json`."""
        return {"impossible": {condition.column: condition.to_json() for condition in self.conditions}}

    def boundaries(self, domain: Domain) -> Mapping[str, tuple[int, ...]]:
        """See `Rule.boundaries`."""
        return {c.column: c.boundaries(domain[c.column]) for c in self.conditions}


@dataclass(frozen=True)
class NullWhen(Rule):
    """A column that is missing where conditions on others hold.

    In a domain file: `{"null": "spouse_age", "when": {"married": ["no"]}}`; with `"only": true` the column is
    never missing elsewhere.
    """

    column: str
    conditions: tuple[Condition, ...]
    only: bool = False

    @property
    def columns(self) -> Clique:
        """The column, then those of the conditions."""
        return (self.column, *(condition.column for condition in self.conditions))

    def check(self, domain: Domain) -> None:
        """See `Rule.check`."""
        check_columns(domain, self.columns, 2)
        for condition in (self._missing, *self.conditions):
            condition.check(domain[condition.column])

    def forbids(self, domain: Domain, codes: Mapping[str, Codes]) -> Mask:
        """See `Rule.forbids`."""
        where = met(self.conditions, domain, codes)
        missing = met((self._missing,), domain, codes)
        absent = absent_codes(domain[self.column])[codes[self.column]]
        return ((where != missing) if self.only else where & ~missing) & ~absent

    def broken(self, columns: Mapping[str, NDArray[Any]], domain: Domain) -> Mask:
        """See `Rule.broken`."""
        where = _met_by_values(self.conditions, columns)
        missing = _met_by_values((self._missing,), columns)
        return (where != missing) if self.only else where & ~missing

    def to_json(self) -> dict[str, Any]:
        """See `Rule.to_json`."""
        form: dict[str, Any] = {"null": self.column}
        form["when"] = {condition.column: condition.to_json() for condition in self.conditions}
        return form | ({"only": True} if self.only else {})

    def dependent(self, domain: Domain, codes: Mapping[str, Codes]) -> dict[str, Codes]:
        """Missing where the conditions hold."""
        (empty,) = np.flatnonzero(self._missing.of_codes(domain[self.column]))[:1]
        found = codes[self.column]
        where = met(self.conditions, domain, codes) & ~absent_codes(domain[self.column])[found]
        return {self.column: np.where(where, empty, found)}

    def boundaries(self, domain: Domain) -> Mapping[str, tuple[int, ...]]:
        """See `Rule.boundaries`."""
        return {c.column: c.boundaries(domain[c.column]) for c in self.conditions}

    @property
    def _missing(self) -> Condition:
        return Condition(self.column, listed=(None,))


def with_atoms(attribute: Attribute, rules: Iterable[Rule]) -> Attribute:
    """The attribute, in which each number that rules compare it with has a code of its own.

    Only if a release chooses its bins; of others the edges are stated, and so are such numbers.
    """
    if not isinstance(attribute, NumericAttribute) or not attribute.open:
        return attribute
    conditions = (
        one
        for rule in rules
        if isinstance(rule, Impossible | NullWhen)
        for one in rule.conditions
        if one.column == attribute.name and all(is_number(bound) for _, bound in one.compared)
    )
    found = {float(bound) for one in conditions for bound in one.inside_bins(attribute)}
    if attribute.lattice is not None:
        steps = np.array(sorted(found))
        found = {*attribute.lattice.values(attribute.lattice.last_to(steps)).tolist()}
    return replace(attribute, atoms=tuple(sorted({*attribute.atoms, *found}))) if found else attribute


def read_conditions(form: object) -> tuple[Condition, ...]:
    """Reads an object column -> condition.

    Raises:
        DataError: it is none.
    """
    if not isinstance(form, Mapping) or not form:
        raise DataError("rules: expected an object, column -> categories or bounds; fix the rule")
    return tuple(Condition.of_json(column, condition) for column, condition in form.items())


def met(conditions: tuple[Condition, ...], domain: Domain, codes: Mapping[str, Codes]) -> Mask:
    """Whether combinations of codes meet all conditions."""
    found = [c.of_codes(domain[c.column])[codes[c.column]] for c in conditions]
    return np.asarray(functools.reduce(np.logical_and, found))


def _met_by_values(conditions: tuple[Condition, ...], columns: Mapping[str, NDArray[Any]]) -> Mask:
    held = [condition.of_values(columns[condition.column]) for condition in conditions]
    return np.asarray(np.all(held, axis=0))

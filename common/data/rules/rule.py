"""The interface of a rule."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from ...errors import DataError
from ...forms.nearest import hint
from ...later import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..domain import Clique, Domain

Codes: TypeAlias = "NDArray[np.integer[Any]]"
Mask: TypeAlias = "NDArray[np.bool_]"

LARGEST_TABLE = 2**24
"""Largest number of cells of the table that `Rule.allowed` makes."""


class Rule(ABC):
    """A statement about the values of some columns in one row.

    Subclasses are frozen dataclasses and hashable.
    """

    @property
    @abstractmethod
    def columns(self) -> Clique:
        """The columns that it is about, in the order of the rule."""

    @abstractmethod
    def check(self, domain: Domain) -> None:
        """Refuses a rule that does not fit the domain.

        Raises:
            DataError: it names an unknown column or category, or a bound inside a bin.
        """

    @abstractmethod
    def forbids(self, domain: Domain, codes: Mapping[str, Codes]) -> Mask:
        """Whether the rule excludes combinations of codes, whatever the values inside bins.

        Args:
            domain: of the codes.
            codes: for each of the columns an array; their shapes are broadcast.
        """

    @abstractmethod
    def broken(self, columns: Mapping[str, NDArray[Any]], domain: Domain) -> Mask:
        """Whether each row breaks the rule, by its values; see `breaking.broken` for raw ones.

        Args:
            columns: values of at least the rule's columns, as `plain` gives them, shape (N,) each.
            domain: of the columns.
        """

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """The rule as in a domain file."""

    def allowed(self, domain: Domain) -> tuple[Clique, Mask] | None:
        """The cells of a marginal that rows may have.

        Returns:
            A clique in domain order and an array of its shape; None if the rule excludes no combination of
            codes, or if the table would have more than `LARGEST_TABLE` cells.
        """
        clique = domain.canonical(self.columns)
        if domain.cells(clique) > LARGEST_TABLE:
            return None
        axes = np.ix_(*(np.arange(size) for size in domain.shape(clique)))
        forbidden = self.forbids(domain, dict(zip(clique, axes, strict=True)))
        if not forbidden.any():
            return None
        return clique, ~np.broadcast_to(forbidden, domain.shape(clique))

    @property
    def of_values(self) -> bool:
        """Whether it relates values beyond their codes, so that they are drawn together."""
        return False

    def check_absent(self, domain: Domain) -> None:  # noqa: B027
        """Refuses a rule whose columns cannot tell people whom their party does not have.

        Raises:
            DataError: they cannot.
        """

    @property
    def parts(self) -> tuple[Rule, ...]:
        """Rules about fewer columns that say the same together."""
        return (self,)

    def dependent(self, domain: Domain, codes: Mapping[str, Codes]) -> dict[str, Codes]:
        """The codes of columns that follow from the others of the rule; empty if none does."""
        return {}

    def boundaries(self, domain: Domain) -> Mapping[str, tuple[int, ...]]:
        """For columns of numbers, the codes at which a bin has to begin when codes are merged into bins.

        Otherwise the bins could not tell whether a condition of the rule holds.
        """
        return {}


class Computing(Rule):
    """A rule by which one column is computed from the others."""

    @property
    @abstractmethod
    def result(self) -> str:
        """The name of this column."""

    @property
    def agrees(self) -> bool:
        """Whether the others can be drawn so that they agree with it, and so with several such rules."""
        return False

    @property
    def sources(self) -> tuple[str, ...]:
        """The names of the others."""
        return tuple(name for name in self.columns if name != self.result)

    @property
    def of_values(self) -> bool:
        """See `Rule.of_values`."""
        return True

    @abstractmethod
    def compute(self, domain: Domain, values: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
        """The column's values; where one of the row is missing, those that it has.

        Args:
            domain: of the columns.
            values: decoded values of at least the rule's columns, shape (N,) each.
        """


_AnyRule = TypeVar("_AnyRule", bound=Rule)


def check_columns(domain: Domain, columns: Clique, least: int) -> None:
    """Raises DataError if a rule names unknown columns, one twice, or fewer than it needs."""
    if unknown := [name for name in columns if name not in domain.names]:
        near = hint(str(unknown[0]), domain.names)
        raise DataError(
            f"rules: no attribute {unknown[0]!r} in the domain{near}; name attributes of the model"
        )
    if len(set(columns)) < max(len(columns), least):
        raise DataError(
            f"rules: expected {least} or more different columns in a rule, found "
            f"{', '.join(map(repr, columns))}; fix the rule"
        )
    if texts := [name for name in columns if domain[name].texts]:
        raise DataError(
            f"rules: {texts[0]!r} lists texts beside its numbers, which a rule cannot tell from missing "
            "values; leave it out of the rules, or its texts out of the domain"
        )


def in_order(rules: Iterable[Rule]) -> list[Computing]:
    """The rules that compute a column, the first one of each, those of what others are computed from first.

    Raises:
        DataError: a column is computed by two rules that cannot be obeyed together, or from itself.
    """
    first: dict[str, Computing] = {}
    for rule in (rule for rule in rules if isinstance(rule, Computing)):
        before = first.setdefault(rule.result, rule)
        if before is not rule and not (before.agrees and rule.agrees):
            raise DataError(
                f"rules: expected one rule that computes {rule.result!r}, got several, which rows could "
                "hardly obey together; leave all but one out"
            )
    left, found = {rule: name for name, rule in first.items()}, list[Computing]()
    while left:
        ready = [rule for rule in left if not {*left.values()}.intersection(rule.sources)]
        if not ready:
            raise DataError(
                f"rules: expected columns computed from others, got {next(iter(left.values()))!r} from "
                "itself; leave a rule out"
            )
        found += ready
        left = {rule: name for rule, name in left.items() if rule not in ready}
    return found


def components(rules: Iterable[_AnyRule]) -> list[list[_AnyRule]]:
    """The rules, grouped so that those of different groups share no column."""
    groups: list[list[_AnyRule]] = []
    for rule in rules:
        near = [g for g in groups if any(set(other.columns) & set(rule.columns) for other in g)]
        groups = [group for group in groups if group not in near]
        groups.append([*(other for group in near for other in group), rule])
    return groups

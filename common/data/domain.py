"""The attributes of a table in their order, and the shapes of its marginals."""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..bounded import json_of, read_bytes, yaml_of
from ..errors import DataError
from ..forms.nearest import hint
from .attributes.attribute import Attribute
from .attributes.categorical import CodedAttribute
from .attributes.unmodelled import Computed, Identifier, Unmodelled

if TYPE_CHECKING:
    from .rules import Rule

_DOMAIN_COLUMNS, _DOMAIN_BINS = 1 << 16, 1 << 21

Clique = tuple[str, ...]
"""Names of attributes in domain order."""


@dataclass(frozen=True)
class Domain:
    """The attributes of a table, in the order of its columns.

    Attributes:
        attributes: columns that models hold.
        unmodelled: other columns: identifiers, drawn anew, those computed in the end, and text, left out.
        rules: public statements by the owner that no synthetic row breaks.
    """

    attributes: tuple[Attribute, ...]
    unmodelled: tuple[Unmodelled, ...] = ()
    rules: tuple[Rule, ...] = ()

    def __post_init__(self) -> None:
        if not self.attributes and not self.unmodelled:
            raise _no_attribute()
        alone = (one for one in self.unmodelled if not isinstance(one, Computed) or not one.measured)
        if repeated := _repeated_names((*self.names, *(column.name for column in alone))):
            raise DataError(f"attribute {repeated[0]!r} is declared twice; declare each column once")
        if len(self.attributes) + len(self.unmodelled) > _DOMAIN_COLUMNS:
            raise DataError(f"expected a domain of at most {_DOMAIN_COLUMNS} columns; leave some out")
        if self.rules:
            from .rules.satisfying import check_satisfiable

            check_satisfiable(self)

    @classmethod
    def coded(cls, sizes: Mapping[str, int]) -> Domain:
        """A domain of columns that already hold codes 0 to n - 1."""
        return cls(tuple(CodedAttribute(name, size) for name, size in sizes.items()))

    @classmethod
    def from_json(cls, form: object) -> Domain:
        """Reads a domain from the JSON object of a domain file.

        Args:
            form: attribute name -> entry (`read_entry`); or an object with these as "attributes",
                and perhaps a list "rules" (`rules.read_rules`), and "suggested_rules", which are not applied.

        Raises:
            DataError: not an object, or an attribute's entry or a rule is invalid.
        """
        from .gaps import check_together

        domain = cls.part_from_json(form)
        if not domain.attributes:
            raise _no_attribute()
        check_together(domain, domain.names)
        return domain

    @classmethod
    def part_from_json(cls, form: object) -> Domain:
        """As `from_json`, of a part of a table: without attributes, or what another column comes after."""
        from .domain_files.reading import bins_held, parts_of, read_entry

        entries, stated, _ = parts_of(form)
        columns, bins = [], 0
        for name, entry in entries.items():
            columns.append(read_entry(name, entry))
            bins += bins_held(columns[-1])
            if bins > _DOMAIN_BINS:
                raise DataError(
                    f"expected at most {_DOMAIN_BINS} bins of all columns together; declare fewer"
                )
        rules: tuple[Rule, ...] = ()
        if stated is not None:
            from .rules import read_rules, with_atoms

            rules = read_rules(stated)
            columns = [one if isinstance(one, Unmodelled) else with_atoms(one, rules) for one in columns]
        held = (one.attribute if isinstance(one, Computed) and one.measured else one for one in columns)
        found = cls(
            tuple(column for column in held if isinstance(column, Attribute)),
            tuple(column for column in columns if not isinstance(column, Attribute)),
            rules,
        )
        # How a column follows from others was read from rows of these.
        read = not all(column.attribute.reviewed for column in found.followers)
        return found.with_unreviewed(found.names) if read else found

    @classmethod
    def load(cls, path: str | Path) -> Domain:
        """Reads a domain file.

        Raises:
            DataError: the file cannot be read, is not JSON, names a column twice, or is no domain.
        """
        return cls.from_json(read_form(path))

    def to_json(self) -> dict[str, Any]:
        """The content of a domain file: attribute name -> entry, in domain order; and rules, if any."""
        columns = {column.name: column.to_json() for column in (*self.attributes, *self.unmodelled)}
        return {"attributes": columns, "rules": [r.to_json() for r in self.rules]} if self.rules else columns

    def digest(self) -> str:
        """SHA-256 (hex) of the domain in its order: equal digests mean that codes have the same meaning."""
        form = json.dumps(self.to_json(), separators=(",", ":"), ensure_ascii=True, allow_nan=False)
        return hashlib.sha256(form.encode("ascii")).hexdigest()

    @cached_property
    def varied(self) -> Clique:
        """The names of the attributes with two values at least; of the others nothing can be learned."""
        return tuple(attribute.name for attribute in self.attributes if attribute.size > 1)

    @cached_property
    def names(self) -> Clique:
        """The names of all attributes."""
        return tuple(attribute.name for attribute in self.attributes)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of a synthetic table: identifiers, then attributes, then what is computed from them."""
        named = (column.name for column in self.identifiers)
        return (*named, *self.names, *(column.name for column in self.followers if not column.measured))

    @property
    def identifiers(self) -> tuple[Identifier, ...]:
        """The columns whose values are drawn anew."""
        return tuple(column for column in self.unmodelled if isinstance(column, Identifier))

    @property
    def followers(self) -> tuple[Computed, ...]:
        """The columns that are computed from others, those that a model holds as well among them."""
        return tuple(column for column in self.unmodelled if isinstance(column, Computed))

    def description_of(self, name: str) -> Attribute | None:
        """How the values of a column are written; None of identifiers, and of other columns."""
        if name in self._positions:
            return self[name]
        return next((column.attribute for column in self.followers if column.name == name), None)

    @property
    def unreviewed(self) -> tuple[str, ...]:
        """Attributes whose entries were read from private rows, and that nobody has reviewed."""
        return tuple(attribute.name for attribute in self.attributes if not attribute.reviewed)

    def with_unreviewed(self, names: Collection[str]) -> Domain:
        """The domain in which nobody has reviewed these attributes, and somebody all others."""
        attributes = (replace(one, reviewed=one.name not in names) for one in self.attributes)  # type: ignore[type-var]
        return replace(self, attributes=tuple(attributes))

    @property
    def open(self) -> tuple[str, ...]:
        """Attributes whose codes a release has to choose before it can measure pairs."""
        return tuple(attribute.name for attribute in self.attributes if attribute.open)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """The number of codes of each attribute."""
        return tuple(attribute.size for attribute in self.attributes)

    def __len__(self) -> int:
        return len(self.attributes)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __getitem__(self, name: str) -> Attribute:
        return self.attributes[self.position(name)]

    def position(self, name: str) -> int:
        """The column of an attribute, from 0.

        Raises:
            DataError: no such attribute.
        """
        if name not in self._positions:
            near = hint(str(name), self.names)
            raise DataError(f"unknown attribute {name!r}{near}; the domain has {', '.join(self.names)}")
        return self._positions[name]

    def with_absent(self) -> Domain:
        """The same attributes, each with one more value, the last, for people whom its party does not have.

        Raises:
            DataError: an attribute has a value that could not be told from it, or a rule cannot.
        """
        for rule in self.rules:
            rule.check_absent(self)
        return replace(self, attributes=tuple(attribute.with_absent() for attribute in self.attributes))

    def canonical(self, attributes: Iterable[str]) -> Clique:
        """The attributes in domain order.

        Raises:
            DataError: one is unknown or named twice.
        """
        positions = [self.position(name) for name in attributes]
        ordered = sorted({*positions})
        if len(ordered) < len(positions):
            repeated = _repeated_names(self.names[place] for place in positions)
            raise DataError(f"attributes named twice: {', '.join(sorted(repeated))}; name each once")
        return tuple(self.names[place] for place in ordered)

    def project(self, attributes: Iterable[str]) -> Domain:
        """The domain of only these attributes, in the order of this domain, with the rules about them."""
        names = self.canonical(attributes)
        rules = tuple(rule for rule in self.rules if set(names).issuperset(rule.columns))
        return Domain(tuple(self[name] for name in names), rules=rules)

    def shape(self, clique: Iterable[str]) -> tuple[int, ...]:
        """The size of each attribute of a clique, in the order given."""
        sizes = self.sizes
        return tuple([sizes[self.position(name)] for name in clique])

    def cells(self, clique: Iterable[str]) -> int:
        """The number of cells of a marginal; 1 for the empty clique."""
        return math.prod(self.shape(clique))

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.names)}


def read_form(path: str | Path) -> object:
    """The value in a domain file of JSON, or of YAML by its name.

    Raises:
        DataError: the file cannot be read, is not JSON, or names a column twice.
        MissingExtraError: the package that reads YAML is not installed.
    """
    kind, read = ("YAML", yaml_of) if Path(path).suffix.lower() in (".yaml", ".yml") else ("JSON", json_of)
    try:
        return read(read_bytes(path))
    except OSError as cause:
        raise DataError(f"the domain file {path} cannot be read: {cause.strerror}") from cause
    except ValueError as cause:
        raise DataError(f"the domain file {path} is not {kind} in UTF-8: {cause}") from cause


def _no_attribute() -> DataError:
    return DataError("a domain needs at least one attribute; name the columns of the table")


def _repeated_names(names: Iterable[str]) -> list[str]:
    """The names that occur more than once."""
    return [name for name, times in Counter(names).items() if times > 1]

"""The attributes of a table in their order, and the shapes of its marginals."""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from ..errors import DataError
from .attribute import Attribute, CategoricalAttribute, CodedAttribute, NumericAttribute

Clique = tuple[str, ...]
"""Names of attributes in domain order."""


@dataclass(frozen=True)
class Domain:
    """The attributes of a table, in the order of its columns."""

    attributes: tuple[Attribute, ...]

    def __post_init__(self) -> None:
        if not self.attributes:
            raise DataError("a domain needs at least one attribute; name the columns of the table")
        if repeated := _repeated(self.names):
            raise DataError(f"attribute {repeated[0]!r} is declared twice; declare each column once")

    @classmethod
    def coded(cls, sizes: Mapping[str, int]) -> Domain:
        """A domain of columns that already hold codes 0 to n - 1."""
        return cls(tuple(CodedAttribute(name, size) for name, size in sizes.items()))

    @classmethod
    def from_json(cls, form: object) -> Domain:
        """Reads a domain from the JSON object of a domain file: attribute name -> entry.

        Args:
            form: for each attribute a number of codes n, a list of categories, or an object with "type":
                "numeric", "min", "max", "bins" and optionally "nullable" and "integer".

        Raises:
            DataError: not an object, or an attribute's entry is invalid.
        """
        if not isinstance(form, Mapping):
            raise DataError("a domain is one JSON object, attribute name -> entry; fix the file")
        return cls(tuple(_attribute(name, entry) for name, entry in form.items()))

    @classmethod
    def load(cls, path: str | Path) -> Domain:
        """Reads a domain file.

        Raises:
            DataError: the file cannot be read, is not JSON, names a column twice, or is no domain.
        """
        try:
            form = json.loads(Path(path).read_text(encoding="utf-8"), object_pairs_hook=_object_once)
        except OSError as cause:
            raise DataError(f"the domain file {path} cannot be read: {cause.strerror}") from cause
        except ValueError as cause:
            raise DataError(f"the domain file {path} is not JSON in UTF-8: {cause}") from cause
        return cls.from_json(form)

    def to_json(self) -> dict[str, Any]:
        """The content of a domain file: attribute name -> entry, in domain order."""
        return {attribute.name: attribute.to_json() for attribute in self.attributes}

    def digest(self) -> str:
        """SHA-256 (hex) of the domain in its order: equal digests mean that codes have the same meaning."""
        form = json.dumps(self.to_json(), separators=(",", ":"), ensure_ascii=True, allow_nan=False)
        return hashlib.sha256(form.encode("ascii")).hexdigest()

    @cached_property
    def names(self) -> Clique:
        """The names of all attributes."""
        return tuple(attribute.name for attribute in self.attributes)

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
            raise DataError(f"unknown attribute {name!r}; the domain has {', '.join(self.names)}")
        return self._positions[name]

    def with_absent(self) -> Domain:
        """The same attributes, each with one more value, the last, for people whom its party does not have.

        Raises:
            DataError: an attribute has a value that could not be told from it.
        """
        return Domain(tuple(attribute.with_absent() for attribute in self.attributes))

    def canonical(self, attributes: Iterable[str]) -> Clique:
        """The attributes in domain order.

        Raises:
            DataError: one is unknown or named twice.
        """
        positions = [self.position(name) for name in attributes]
        if repeated := _repeated(self.names[place] for place in positions):
            raise DataError(f"attributes named twice: {', '.join(sorted(repeated))}; name each once")
        return tuple(self.names[place] for place in sorted(positions))

    def project(self, attributes: Iterable[str]) -> Domain:
        """The domain of only these attributes, in the order of this domain."""
        return Domain(tuple(self[name] for name in self.canonical(attributes)))

    def shape(self, clique: Iterable[str]) -> tuple[int, ...]:
        """The size of each attribute of a clique, in the order given."""
        return tuple(self[name].size for name in clique)

    def cells(self, clique: Iterable[str]) -> int:
        """The number of cells of a marginal; 1 for the empty clique."""
        return math.prod(self.shape(clique))

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.names)}


def _attribute(name: str, form: object) -> Attribute:
    if isinstance(form, int) and not isinstance(form, bool):
        return CodedAttribute(name, form)
    if isinstance(form, list):
        return CategoricalAttribute(name, tuple(form))
    if not isinstance(form, Mapping):
        raise DataError(
            f"attribute {name!r}: expected a number of codes, categories or an object; fix the domain"
        )
    if form.get("type") != "numeric":
        raise DataError(
            f'attribute {name!r}: an object needs "type": "numeric", the only type; fix the domain'
        )
    required, optional = {"type", "min", "max", "bins"}, {"nullable", "integer"}
    if missing := sorted(required - set(form)):
        raise DataError(f"attribute {name!r}: expected the keys {', '.join(missing)}; add them to the domain")
    if unknown := sorted(set(form) - required - optional):
        raise DataError(f"attribute {name!r}: unknown keys {', '.join(unknown)}; remove them from the domain")
    return NumericAttribute(
        name, form["min"], form["max"], form["bins"], form.get("nullable", False), form.get("integer")
    )


def _object_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entries = dict(pairs)
    if len(entries) < len(pairs):
        repeated = sorted(_repeated(name for name, _ in pairs))
        raise DataError(f"named twice in one JSON object: {', '.join(repeated)}; name each once")
    return entries


def _repeated(names: Iterable[str]) -> list[str]:
    """The names that occur more than once."""
    return [name for name, times in Counter(names).items() if times > 1]

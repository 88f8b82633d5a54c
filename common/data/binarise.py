"""Attributes as binary digits, for mechanisms that need binary data."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..errors import DataError
from .attributes.attribute import Attribute
from .attributes.categorical import CodedAttribute
from .domain import Domain
from .table import Table, code_dtype


@dataclass(frozen=True)
class Binarisation:
    """Encodes each attribute of size n as ceil(log2 n) binary attributes.

    They are named `name.bit0`, `name.bit1`, ..., most significant first. An attribute of size 1 stays one
    attribute of size 1.

    Source: PrivBayes (Zhang et al., 2017), binary encoding.

    Attributes:
        original: domain whose codes are encoded.
    """

    original: Domain

    @cached_property
    def domain(self) -> Domain:
        """The domain of the binary attributes, in the order of the original ones.

        Raises:
            DataError: two attributes get the same name.
        """
        return Domain(tuple(bit for attribute in self.original.attributes for bit in _bits(attribute)))

    def encode(self, table: Table) -> Table:
        """The table in binary.

        Raises:
            DataError: the table is of another domain.
        """
        _check_domain(table, self.original)
        columns = []
        for attribute, column in zip(self.original.attributes, table.columns, strict=True):
            bits = len(_bits(attribute))
            columns += [(column >> (bits - 1 - bit) & 1).astype(np.uint8) for bit in range(bits)]
        return Table(self.domain, tuple(columns))

    def decode(self, table: Table) -> Table:
        """The table of codes; a code above the last, n - 1, is clipped to it.

        Raises:
            DataError: the table is of another domain.
        """
        _check_domain(table, self.domain)
        columns = []
        place = 0
        for attribute in self.original.attributes:
            codes = np.zeros(table.record_count, dtype=np.int64)
            for column in table.columns[place : place + len(_bits(attribute))]:
                codes = 2 * codes + column
            place += len(_bits(attribute))
            columns.append(np.minimum(codes, attribute.size - 1).astype(code_dtype(attribute.size)))
        return Table(self.original, tuple(columns))


def _bits(attribute: Attribute) -> tuple[CodedAttribute, ...]:
    if attribute.size == 1:
        return (CodedAttribute(attribute.name, 1, attribute.reviewed),)
    digits = (attribute.size - 1).bit_length()
    return tuple(
        CodedAttribute(f"{attribute.name}.bit{digit}", 2, attribute.reviewed) for digit in range(digits)
    )


def _check_domain(table: Table, domain: Domain) -> None:
    if table.domain != domain:
        raise DataError("the table is not of the domain of this binarisation; encode it with that domain")

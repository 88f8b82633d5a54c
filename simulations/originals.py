"""The real table of a simulation and the distributions of its numbers, from one pass over a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..common.data.attributes.attribute import Attribute
from ..common.data.attributes.texts import TextColumn, has_open_categories
from ..common.data.domain import Domain
from ..common.data.table import Table, code_dtype
from ..common.data.values import RawColumn
from ..common.errors import DataError
from ..common.processes.blocks import made_in_order
from ..party.sources.source import FileSource
from .evaluation.values.distribution import Distribution


@dataclass(frozen=True, eq=False)
class Original:
    """A real table, encoded.

    Attributes:
        table: the rows.
        numbers: name -> distribution of the values, of attributes that hold numbers.
    """

    table: Table
    numbers: Mapping[str, Distribution]


def read_original(source: FileSource, domain: Domain) -> Original:
    """Reads the columns of the domain once: encodes each, and describes its numbers.

    Raises:
        DataError: the file does not fit the domain, or has no rows.
    """
    codes: list[NDArray[np.unsignedinteger]] = []
    texts, numbers = {}, {}
    columns = zip(domain.attributes, source.cells(domain), strict=True)
    for attribute, read in zip(domain.attributes, made_in_order(_read, columns), strict=True):
        codes.append(read.codes)
        if read.text is not None:
            texts[attribute.name] = read.text
        if read.numbers is not None:
            numbers[attribute.name] = read.numbers
    table = Table(domain, tuple(codes), texts)
    if not table.record_count:
        raise DataError(f"{source.name} has no rows; an empty table has nothing to release")
    return Original(table, numbers)


@dataclass(frozen=True, eq=False)
class _Read:
    """A column: its codes, its texts if it has open categories, and its numbers if it holds any."""

    codes: NDArray[np.unsignedinteger]
    text: TextColumn | None
    numbers: Distribution | None


def _read(column: tuple[Attribute, RawColumn]) -> _Read:
    attribute, cells = column
    codes = attribute.encode(cells).astype(code_dtype(attribute.size))
    text = TextColumn.read(attribute.name, cells) if has_open_categories(attribute) else None
    numbers = attribute.within(cells)
    return _Read(codes, text, None if numbers is None else Distribution.of(numbers))

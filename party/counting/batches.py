"""Codes of a source, some rows after the other."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...common.data.domain import Domain
from ..sources.source import Source
from .catalogue import engine_of
from .codes import keep_codes
from .engines.names import code_of, other_of
from .identifiers import names_of_people


def code_batches(
    source: Source, domain: Domain, columns: Sequence[str], folder: Path | None
) -> Iterator[dict[str, NDArray[Any]]]:
    """The codes of a domain and the texts of other columns, in the order of the source.

    The source's engine encodes the rows where they live. A source that has none is read at once.

    Args:
        source: where the rows live.
        domain: meaning of the codes.
        columns: whose texts are read.
        folder: where an engine in this process writes codes; None for that of temporary files.

    Yields:
        Columns by name (`code_of`, `other_of`), of some rows.

    Raises:
        DataError: the rows cannot be read, have no order, or hold a value without a code.
    """
    coded, others = (
        [of(place) for place in range(len(held))] for of, held in ((code_of, domain), (other_of, columns))
    )
    connect = engine_of(source, folder)
    if connect is None:
        table, texts = source.read_with_texts(domain, columns)
        found = {
            other: np.array(names_of_people(texts[name]), dtype=object)
            for other, name in zip(others, columns, strict=True)
        }
        yield found | dict(zip(coded, table.columns, strict=True))
        return
    with contextlib.closing(connect()) as engine:
        yield from keep_codes(engine, domain, columns).batches([*coded, *others])

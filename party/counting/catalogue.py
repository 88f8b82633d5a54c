"""Which engine counts the rows of a source."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Protocol, runtime_checkable

from ..sources.query import QuerySource
from ..sources.source import FileSource, Source
from .engines.duck import DuckEngine
from .engines.engine import Engine


@runtime_checkable
class CountSource(Protocol):
    """A source whose rows an engine counts where they live."""

    def engine(self) -> Engine:
        """A new connection to the engine.

        Raises:
            DataError: it cannot be reached.
        """


def keeps_identifiers(source: Source) -> bool:
    """Whether the engine of a source, in this process, reads identifiers again when they are needed."""
    return isinstance(source, FileSource | QuerySource)


def engine_of(source: Source, folder: Path | None) -> Callable[[], Engine] | None:
    """What connects to the engine of a source; None if its rows can only be read.

    Args:
        source: any source, of another package too.
        folder: where an engine in this process writes codes; None for that of temporary files.
    """
    match source:
        case FileSource() | QuerySource():
            return partial(DuckEngine, source, folder)
        case CountSource():
            return source.engine
    return None

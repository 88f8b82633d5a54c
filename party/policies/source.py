"""Where a party's rows live, as its policy file says: a file, a query, or a source of another package."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ...common.errors import DataError
from ...common.extensions import SOURCES, extensions
from ..counting.engines.remote import Place
from ..counting.source import EngineSource
from ..sources.query import QuerySource
from ..sources.source import FileSource, Source

Factory = Callable[[Mapping[str, Any], Path], Source]
"""From the options of the policy file and the party's folder, where relative paths start."""

_KINDS = ("file", "query", "table", "kind")
_OF_ENGINES = ("connection", "order_by", "table")


def source_of(keys: Mapping[str, Any], folder: Path) -> Source:
    """The source that a policy file names.

    Args:
        keys: of its section [source].
        folder: of the party.

    Raises:
        DataError: none is named, or more than one, or it is not there.
    """
    named = [kind for kind in _KINDS if keys.get(kind) is not None]
    if len(named) != 1:
        raise DataError(
            "policy.toml: expected one of file, query, table or kind in [source]; name where the rows live"
        )
    if keys.get("engine") is not None:
        return _in_engine(keys, named[0], folder)
    for key in _OF_ENGINES:
        if keys.get(key) is not None:
            raise DataError(
                f"policy.toml: {key} in [source] goes with engine; name the engine, or take it out"
            )
    database = keys.get("database")
    if database is not None and named != ["query"]:
        raise DataError("policy.toml: database in [source] goes with query; take it out")
    if keys.get("options") is not None and named != ["kind"]:
        raise DataError("policy.toml: options in [source] go with kind; take them out")
    if keys.get("header") is not None and named != ["file"]:
        raise DataError("policy.toml: header in [source] goes with file; take it out")
    match named:
        case ["file"]:
            return FileSource(folder / keys["file"], keys.get("header"))
        case ["query"]:
            return QuerySource(keys["query"], folder, None if database is None else folder / database)
        case _:
            return _load_extension(keys["kind"])(keys.get("options") or {}, folder)


def stamp_of(source: Source) -> tuple[int, ...]:
    """Changes whenever the file of a source is replaced or written to; empty for other sources.

    Raises:
        DataError: the file cannot be read.
    """
    match source:
        case FileSource():
            path: Path | None = source.path
        case QuerySource():
            path = source.database
        case _:
            path = None
    if path is None:
        return ()
    try:
        state = path.stat()
    except OSError as cause:
        raise DataError(f"cannot read {path.name}: {cause.strerror}; its operator restores it") from cause
    return state.st_mtime_ns, state.st_size, state.st_ino


def _in_engine(keys: Mapping[str, Any], named: str, folder: Path) -> Source:
    if named not in ("query", "table") or keys.get("database") is not None:
        raise DataError("policy.toml: engine in [source] goes with table or query alone; take the others out")
    place = Place(keys.get("table") or "", keys.get("query") or "", keys.get("order_by"))
    return EngineSource(keys["engine"], place, keys.get("connection", ""), folder)


def _load_extension(kind: str) -> Factory:
    known = extensions(SOURCES, {})
    if kind not in known:
        installed = ", ".join(known) or "none"
        raise DataError(
            f"policy.toml: kind in [source]: expected one that an installed package brings ({installed}), "
            f"got {kind!r}; install the package, or use file or query"
        )
    found: Factory = known[kind].load()
    return found

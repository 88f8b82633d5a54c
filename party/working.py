"""The section [workers] of the policy of a party or dealer: where it multiplies ranges of rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..common.errors import DataError
from ..common.workers import Workers
from .toml_file import check_least

WORKERS: Mapping[str, type] = {"threads": int, "scheduler": str}
"""Keys of the section [workers]."""

TEMPLATE = """\
[workers]
# Products of many rows are computed by threads, one for each of this machine's processors, or by
# threads = 2
# or on a Dask cluster of this institution alone, since its workers see keys and codes of rows:
# scheduler = "tls://host:8786"  # needs pip install 'dpmosaic[cluster]', here and there
"""


def workers_of(name: str, entries: Mapping[str, Any]) -> Workers:
    """The workers that a policy names.

    Args:
        name: name of the policy's file.
        entries: keys and values of the section.

    Raises:
        DataError: it names both kinds, or an address without encryption.
        MissingExtraError: Dask is not installed.
    """
    check_least(name, entries, ("threads",), 1)
    scheduler = entries.get("scheduler")
    if scheduler is None:
        return Workers.threads(entries.get("threads"))
    if "threads" in entries:
        raise DataError(f"{name}: [workers] has threads and scheduler; take one of the two out")
    return Workers.cluster(scheduler)

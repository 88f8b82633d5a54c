"""The section [workers] of a party's or dealer's policy: what computes for it beside its own process."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..common.errors import DataError
from ..common.workers import Workers
from .toml_file import check_least

WORKERS: Mapping[str, type] = {"processes": int, "scheduler": str}
"""Keys of the section [workers]."""

TEMPLATE = """\
[workers]
# Products of many rows are computed in processes of this machine, one for each of its processors:
# processes = 2                  # so many; 1 for this process alone
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
    check_least(name, entries, ("processes",), 1)
    scheduler = entries.get("scheduler")
    if scheduler is None:
        return Workers.processes(entries.get("processes"))
    if "processes" in entries:
        raise DataError(f"{name}: [workers] has processes and scheduler; take one of the two out")
    return Workers.cluster(scheduler)

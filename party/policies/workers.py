"""The section [workers] of the policy of a party or dealer: where it multiplies ranges of rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...common.errors import DataError
from ...common.forms.tables import Key, Table
from ...common.forms.values import Text, whole

if TYPE_CHECKING:
    from ...common.processes.workers import Workers

WORKERS = Table(
    {
        "threads": Key(whole(1), "Number of threads; by default one for each processor."),
        "scheduler": Key(Text(), "Address of the scheduler of a Dask cluster, tls://HOST:PORT."),
    }
)
"""The section [workers]."""

TEMPLATE = """\
[workers]
# Products of many rows are computed by threads, one for each of this machine's processors, or by
# threads = 2
# or on a Dask cluster of this institution alone, since its workers see keys that hide rows:
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
    from ...common.processes.workers import Workers

    scheduler = entries.get("scheduler")
    if scheduler is None:
        return Workers.threads(entries.get("threads"))
    if "threads" in entries:
        raise DataError(f"{name}: [workers] has threads and scheduler; take one of the two out")
    return Workers.cluster(scheduler)

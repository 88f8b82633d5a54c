"""The forecast of a simulated release, with any mechanism; measures and charges nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import Unpack

from ..common.crypto.randomness import RandomStream
from ..common.data.table import Table
from ..common.data.workload import Workload
from ..common.errors import DataError
from ..common.privacy.budget import DEFAULT_DELTA, Budget
from ..common.protocols.registry import INDICATOR_MLE, THEOREM
from ..common.release_spec import ReleaseOptions, ReleaseSpec
from ..curator.forecasting.forecast import Forecast, forecast_order, planned_bins
from ..curator.mechanisms.mechanism import Mechanism
from ..curator.parties.federation import connect
from ..curator.releasing.planning.bins_share import DEFAULT_SHARE, check_share
from .parties.participants import Participants
from .parties.partition import Grid
from .simulate import ordered


def forecast_simulation(
    table: Table,
    epsilon: float | Budget = 1.0,
    *,
    delta: float = DEFAULT_DELTA,
    grid: Grid | str = "1x1",
    mechanism: Mechanism | str = "mosaic",
    workload: Workload | str | None = None,
    target: str | None = None,
    dealers: int = 0,
    bins_share: float = DEFAULT_SHARE,
    link_mib_s: float = 12.0,
    **options: Unpack[ReleaseOptions],
) -> Forecast:
    """Forecasts what `simulate` would do with these arguments, over rows in the same order.

    Args:
        table: the real table, of which domain and number of records are used.
        epsilon: see `simulate`, as for all other arguments but the bandwidth.
        delta: see there.
        grid: see there.
        mechanism: see there.
        workload: see there.
        target: see there.
        dealers: see there.
        bins_share: see there.
        link_mib_s: bandwidth of the slowest party's link, MiB/s.
        options: see there.

    Raises:
        DataError: an argument does not fit the others, or the protocol has no forecast.
        BudgetError: the budget is out of range.
    """
    spec = ReleaseSpec.of(Budget.of(epsilon, delta), options)
    order = ordered(table.domain, spec, mechanism, workload, target, dealers)
    if order.protocol in (THEOREM, INDICATOR_MLE):
        raise DataError(
            f"protocol {order.protocol.name!r} follows a paper and has no forecast; leave --dry-run out"
        )
    stream = RandomStream.from_os()
    cut = Grid.parse(grid, table.domain, table.record_count) if isinstance(grid, str) else grid
    among = Participants.in_order(table, order, cut, stream, dealers, record_wise=False)
    if table.domain.open:
        chosen = planned_bins(table.domain, order, check_share(bins_share), table.record_count)
        domain = among.coded_domain(chosen)
        wanted = Workload.wanted(domain, workload, target)
        order = replace(order, domain=domain, chosen=chosen, workload=wanted)
    federation = connect(table.domain, among.links, dealers=among.dealing, chosen=order.chosen)
    return forecast_order(order, federation, link_mib_s, records_at_hand=order.protocol.one_party)

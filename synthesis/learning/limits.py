"""How much of a budget learning takes, and when a table is too small to learn its columns."""

from __future__ import annotations

import math

from ...common.errors import DataError
from ...simulations.stopping import running

_SHARE_OF_LARGE, _SHARE_OF_SMALL = 0.25, 0.4
"""Share of a budget by which columns are learned, of large and of small tables."""

_SHARE = 4.5
"""The share is this over the square root of the table's weight."""

_POOR = 150.0
"""Below so many records for each deviation of that noise, ranges and texts are mostly noise."""

_DESCRIBE = (
    "by `dpmosaic domain infer DATA --out domain.json`, `dpmosaic domain review domain.json` and `dpmosaic "
    "synthesize DATA --domain domain.json --out NEW_FOLDER`; in Python by draft = dpmosaic.draft(data), "
    "draft.confirm() after you have reviewed it, and synthesize(data, domain=draft)"
)
_DESCRIBE_PEOPLE = (
    "by `dpmosaic domain infer DATA --out domain.json`, `dpmosaic domain review domain.json` and --domain "
    "domain.json beside --key; of related tables by `dpmosaic domain infer FOLDER --out DRAFTS`, a review of "
    "all its files, and --relations DRAFTS/relations.toml; in Python by domain="
)


def weight(records: float, zcdp_rho: float, columns: int) -> float:
    """Records over the noise of a marginal of each column, if these had the whole budget.

    Args:
        records: number of rows, with noise.
        zcdp_rho: the whole budget.
        columns: number of columns.
    """
    return max(records, 1.0) * math.sqrt(2 * zcdp_rho / columns)


def learning_share(weight: float) -> float:
    """The share of a budget by which columns are learned: more of it for small tables.

    Args:
        weight: see `weight`.
    """
    return min(_SHARE_OF_SMALL, max(_SHARE_OF_LARGE, _SHARE / math.sqrt(weight)))


def can_be_learned(records: float, zcdp_rho: float, columns: int) -> bool:
    """Whether ranges and texts would be more than noise; arguments as of `weight`."""
    return weight(records, zcdp_rho, columns) >= _POOR


def check_learnable(
    records: float, zcdp_rho: float, columns: int, spent: str, of_people: bool = False
) -> None:
    """Refuses a table whose columns cannot be learned within the budget.

    Args:
        records: number of rows, with noise unless it is public.
        zcdp_rho: the whole budget.
        columns: number of columns.
        spent: what was spent so far, in words.
        of_people: whether records are people, and the columns those of all tables.

    Raises:
        DataError: it does not have enough rows; the message says how many it would need.
    """
    if can_be_learned(records, zcdp_rho, columns):
        return
    needed = _POOR * max(records, 1.0) / weight(records, zcdp_rho, columns)
    needed = round(needed, -max(0, int(math.log10(needed)) - 1))
    for spending in running():
        spending.require("--anyway")
    who, what = (
        "people" if of_people else "rows",
        "a column holds" if columns == 1 else f"{columns} columns hold",
    )
    raise DataError(
        f"about {max(records, 1.0):,.0f} {who} are too few to learn what {what} from a "
        f"budget of this size, which takes about {needed:,.0f}: ranges and categories would be mostly noise. "
        f"{spent} Describe the columns instead, {_DESCRIBE_PEOPLE if of_people else _DESCRIBE}. Fewer "
        "columns, a larger epsilon or --anyway (anyway=True) go on without a domain"
    )

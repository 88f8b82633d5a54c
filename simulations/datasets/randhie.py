"""The table of the demo: the RAND Health Insurance Experiment that statsmodels bundles (public domain).

20,190 records, 10 columns. The domain follows the published description of the experiment, with bins chosen
by hand and atoms where it names a value of its own, such as no deductible. An insurer knows a person's plan,
a clinic the person's health.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...common.extras import require_extra

if TYPE_CHECKING:
    from ...common.data.table import Table

INSURER = ("lncoins", "idp", "lpi", "fmde")
CLINIC = ("mdvis", "physlm", "disea", "hlthg", "hlthf", "hlthp")

DOMAIN = {
    "mdvis": {"type": "numeric", "edges": [*range(30), 100], "integer": True},
    # ln(1 + rate) of the rates of coinsurance 0, 25, 50, 95 and 100.
    "lncoins": [0.0, 3.258096, 3.931826, 4.564348, 4.61512],
    "idp": 2,
    "lpi": {"type": "numeric", "min": 0, "max": 7.2, "bins": 12, "atoms": [0]},
    "fmde": {"type": "numeric", "min": 0, "max": 8.4, "bins": 12, "atoms": [0]},
    "physlm": {"type": "numeric", "min": 0, "max": 1, "bins": 4, "atoms": [0, 1]},
    "disea": {"type": "numeric", "min": 0, "max": 60, "bins": 30},
    "hlthg": 2,
    "hlthf": 2,
    "hlthp": 2,
}


def load() -> Table:
    """The encoded table.

    Raises:
        MissingExtraError: statsmodels is not installed.
    """
    require_extra("demo")
    from statsmodels.datasets import randhie

    from ...common.data.domain import Domain
    from ...common.data.table import encode_table

    data = randhie.load_pandas().data
    return encode_table(Domain.from_json(DOMAIN), {name: data[name].to_numpy() for name in DOMAIN})

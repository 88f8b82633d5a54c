"""Mutual information of a table's attributes."""

from __future__ import annotations

import numpy as np

from ....common.data.domain import Clique
from ....common.data.table import Table


def mutual_information(table: Table, clique: Clique) -> float:
    """Mutual information of the attributes of a clique, in nats.

    For three attributes and more it is the total correlation. No noise is added: the result is private data.

    Source: DP-Select, section 4.3.1.
    """
    joint = table.marginal(clique) / table.record_count
    product = np.ones(1)
    for name in clique:
        product = np.outer(product, table.marginal((name,)) / table.record_count).ravel()
    held = joint > 0
    return float((joint[held] * np.log(joint[held] / product[held])).sum())

"""How much a table's attributes say about each other."""

from __future__ import annotations

import numpy as np

from ....common.data.domain import Clique
from ....common.data.table import Table


def mutual_information(table: Table, clique: Clique) -> float:
    """What the attributes of a clique say about each other, in nats: 0 where they are independent.

    For three attributes and more it is the total correlation. Private: nothing is added to it.

    Source: DP-Select, section 4.3.1.
    """
    joint = table.marginal(clique) / table.record_count
    product = np.ones(1)
    for name in clique:
        product = np.outer(product, table.marginal((name,)) / table.record_count).ravel()
    held = joint > 0
    return float((joint[held] * np.log(joint[held] / product[held])).sum())

"""A small federation on disk, whose plan is cheap."""

import numpy as np

from dpmosaic.common.data.domain import Domain
from dpmosaic.simulations.local_network.network import LocalNetwork
from support.edits import edit

DOMAIN = {
    "kind": ["x", "y, z"],
    "age": {"type": "numeric", "min": 0, "max": 99, "bins": 5},
    "code": 3,
    "bit": 2,
}


def write_table(path, records=240):
    rng = np.random.default_rng(1)
    lines = ["id,kind,age,code,bit"]
    for number in range(records):
        other = rng.random() < 0.3
        kind, bit = '"y, z"' if other else "x", int(other) if rng.random() < 0.8 else rng.integers(0, 2)
        lines.append(f"P{number},{kind},{rng.integers(0, 100)},{rng.integers(0, 3)},{bit}")
    path.write_text("\n".join(lines) + "\n")
    return path


def small_network(folder, grid="2x2", **plan):
    """A network of a small table, whose plan is cheap: one-way marginals, no second opinion on epsilon."""
    data = write_table(folder / "people.csv")
    network = LocalNetwork.create(
        folder / "net",
        data,
        Domain.from_json(plan.pop("domain", DOMAIN)),
        grid,
        attach=plan.pop("attach", False),
        overlap=plan.pop("overlap", None),
        key=plan.pop("key", None),
        dealers=plan.pop("dealers", 0),
    )
    changes = {'mechanism = "mosaic"': f'mechanism = "{plan.pop("mechanism", "independent")}"'}
    changes["epsilon = 1.0  "] = "rho = 0.5"
    changes["delta = 1e-9"] = ""
    edit(network.plan, changes | plan.pop("changes", {}))
    return network

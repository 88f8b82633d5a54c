"""Networks of daemons that hold related tables: patients, their stays and what was found in these."""

import json

from dpmosaic.synthesis.over_parties.network import create_network
from support.edits import edited
from support.related import DOMAINS

WHOLE = "1x1"
"""A party that holds all tables."""
APART = "1x2"
"""Patients at one party, stays and what was found in these at the other."""

RELATIONS = """
[patients]
domain = "patients.json"

[stays]
domain = "stays.json"
belongs_to = { id = "patients" }
order = "day"

[codes]
domain = "codes.json"
belongs_to = { stay = "stays" }
"""


def network(folder, tables, grid, rho=1e4, listed=True, policy=None, plan=None, relations=RELATIONS):
    """A network of slices of parties.

    Args:
        folder: an empty one.
        tables: the tables by name.
        grid: KxS, such as `APART`.
        rho: the promise, zCDP.
        listed: whether a party without patients lists them.
        policy: changes the text of each policy.
        plan: changes the text of the plan.
        relations: the text of the file of relations.
    """
    real = folder.with_name(f"{folder.name}-tables")
    real.mkdir(parents=True)
    for name, rows in tables.items():
        rows.to_csv(real / f"{name}.csv", index=False)
        if name in DOMAINS:
            (real / f"{name}.json").write_text(json.dumps(DOMAINS[name]))
    (real / "relations.toml").write_text(relations)
    made = create_network(folder, real, real / "relations.toml", grid)
    changes = {"epsilon = 1.0  ": f"rho = {rho}  ", "delta = 1e-6\n": "", '"mosaic"': '"independent"'}
    text = edited(made.plan.read_text(), changes).replace("collusions = 1", "collusions = 0")
    text = text.replace("[alignment]\n", "[alignment]\nrho = 1e3\n")
    made.plan.write_text(text if plan is None else plan(text))
    for name in made.all_names:
        path = made.party(name) / "policy.toml"
        text = path.read_text()
        if not listed:
            text = text.replace('[tables.patients]\nkey = "id"\nfile = "patients.csv"\n', "")
        path.write_text(text if policy is None else policy(name, text))
    return made

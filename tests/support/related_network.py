"""Networks of daemons that hold related tables: patients, their stays and what was found in these."""

import json

import pandas as pd

from dpmosaic.curator.parties.home import CuratorHome
from dpmosaic.party.home.home import PartyHome
from dpmosaic.simulations.local_network.network import LocalNetwork
from dpmosaic.simulations.local_network.ports import free_port
from support.related import DOMAINS

KEYS = {
    "patients": 'key = "id"\n',
    "stays": 'key = "stay"\nbelongs_to = { id = "patients" }\norder = "day"\n',
    "codes": 'belongs_to = { stay = "stays" }\n',
}
ALL = ("patients", "stays", "codes")
APART = (("patients",), ("stays", "codes"))
"""Of each slice, the tables of each party."""

POLICY = """
[policy]
protocols = ["masked"]
adjacencies = ["zero-out", "add-remove"]
max_release_rho = 1e6
lifetime_rho = 1e6
max_cells = 1000000
min_records = 1
min_tolerated = 0
max_rows_per_person = "all"
tables = ["patients", "stays", "codes"]
dealers = ["curator"]
approval = false
"""
PLAN = """
[release]
rho = {rho}
adjacency = "{adjacency}"
rows_per_person = "all"
collusions = 0
mechanism = "independent"
"""


def network(folder, tables, grid, rho=1e4, listed=True, policy=None, plan=None):
    """A network of slices of parties.

    Args:
        folder: an empty one.
        tables: for each slice, its tables by name.
        grid: for each party of a slice, the names of its tables.
        rho: the promise, zCDP.
        listed: whether a party without patients lists them.
        policy: changes the text of each policy.
        plan: changes the text of the plan.
    """
    names = tuple(
        tuple(f"party-{i}-{j}" for j, _ in enumerate(grid, start=1)) for i, _ in enumerate(tables, start=1)
    )
    made = LocalNetwork(folder, names)
    folder.mkdir(parents=True, exist_ok=True)
    curator = CuratorHome.create(folder / "curator", "curator")
    aligned = len(grid) > 1
    for row, held in zip(names, tables, strict=True):
        for name, own in zip(row, grid, strict=True):
            home = PartyHome.create(made.party(name), name)
            text = "".join(_section(home.folder, held, table) for table in own)
            if listed and "patients" not in own:
                held["patients"][["id"]].to_csv(home.folder / "people.csv", index=False)
                text += '[tables.patients]\nkey = "id"\nfile = "people.csv"\n'
            others = json.dumps([other for other in row if other != name])
            text += f"[records]\nsame_as = {others}\n[serve]\nlisten = '127.0.0.1:0'\n" + POLICY
            text += "max_alignment_rho = 1e6\n" if aligned else ""
            (home.folder / "policy.toml").write_text(text if policy is None else policy(name, text))
            curator.enroll(home.card(), f"127.0.0.1:{free_port()}")
    for name in made.all_names:
        PartyHome.open(made.party(name)).trust(curator.federation())
    text = PLAN.format(rho=rho, adjacency="add-remove" if aligned else "zero-out")
    for table in ALL:
        text += f'[tables.{table}]\ndomain = "{table}.json"\n{KEYS[table]}'
        (curator.folder / f"{table}.json").write_text(json.dumps(DOMAINS[table]))
    for row in names:
        text += f"[[slice]]\nparties = {json.dumps(row)}\n"
        if aligned:
            text += "".join(
                f"holds.{name} = {json.dumps(own)}\n" for name, own in zip(row, grid, strict=True)
            )
    text += "[alignment]\nrho = 1e3\n" if aligned else ""
    made.plan.write_text(text if plan is None else plan(text))
    return made


def _section(folder, tables, name):
    pd.DataFrame(tables[name]).to_csv(folder / f"{name}.csv", index=False)
    (folder / f"{name}.json").write_text(json.dumps(DOMAINS[name]))
    return f'[tables.{name}]\nfile = "{name}.csv"\ndomain = "{name}.json"\n{KEYS[name]}'


def cut(tables, slices):
    """The tables of slices of other people."""
    people = tables["patients"]["id"].to_numpy()
    found = []
    for number in range(slices):
        mine = people[number::slices]
        patients = tables["patients"][tables["patients"]["id"].isin(mine)]
        stays = tables["stays"][tables["stays"]["id"].isin(mine)]
        codes = tables["codes"][tables["codes"]["stay"].isin(stays["stay"])]
        found.append({"patients": patients, "stays": stays, "codes": codes})
    return found

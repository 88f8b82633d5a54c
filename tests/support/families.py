"""Small families of related tables, whole and without one person."""

from dataclasses import replace

import hypothesis.strategies as st
import numpy as np

from dpmosaic.common.data.attributes.categorical import CodedAttribute
from dpmosaic.common.data.attributes.numeric import NumericAttribute
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.related.rows import Rows
from dpmosaic.curator.people.kin import Kin
from dpmosaic.curator.people.shape import Family, number_name

MOST = 7
"""Largest number of rows of a parent that has a code of its own."""


@st.composite
def families(draw, most_tables=5, most_rows=7, most_people=4):
    """A tree of tables and its rows: a parent has 0 to `most_rows` rows of a child."""
    owners = [""] + [
        f"t{draw(st.integers(0, place))}" for place in range(draw(st.integers(0, most_tables - 1)))
    ]
    names = [f"t{place}" for place in range(len(owners))]
    sizes = {name: draw(st.lists(st.integers(1, 3), max_size=2)) for name in names}
    kins, rows = [], {}
    for name, owner in zip(names, owners, strict=True):
        if owner:
            size = len(rows[owner])
            numbers = draw(st.lists(st.integers(0, most_rows), min_size=size, max_size=size))
        else:
            size = numbers = draw(st.integers(1, most_people))
            numbers = [1] * size
        parent = np.repeat(np.arange(size), numbers)
        codes = {
            f"{name}_{place}": np.array(
                draw(st.lists(st.integers(0, n - 1), min_size=len(parent), max_size=len(parent))),
                dtype=np.int64,
            )
            for place, n in enumerate(sizes[name])
        }
        rows[name] = Rows(codes, parent, size)
        series = f"{name}_0" if owner and sizes[name] and draw(st.booleans()) else ""
        evened = draw(st.integers(1, 4)) if owner else 1
        kins.append(Kin(name, None, parent=owner, evened=evened, series=series))
    return described(Family(tuple(kins)), sizes, rows)


def described(family, sizes, rows):
    """The family with domains of coded attributes and of numbers of rows, and the rows with these."""
    for name in [table.name for table in family.tables]:
        columns = [CodedAttribute(f"{name}_{place}", n) for place, n in enumerate(sizes[name])]
        numbers = {number_name(child.name): rows[child.name].numbers for child in family.children(name)}
        attributes = tuple(NumericAttribute(one, 0, MOST, MOST + 1, integer=True) for one in numbers)
        domain = Domain((*columns, *attributes)) if columns or numbers else None
        family = family.with_table(replace(family[name], domain=domain))
        codes = rows[name].codes | {one: np.minimum(held, MOST) for one, held in numbers.items()}
        rows[name] = Rows(codes, rows[name].parent, rows[name].parents)
    return family, rows


def without(family, rows, person):
    """The rows of all tables without those of one person."""
    kept, left = {}, {}
    for table in family.tables:
        held = rows[table.name]
        if table.parent:
            kept[table.name] = kept[table.parent][held.parent]
            places = np.cumsum(kept[table.parent]) - 1
            parents, parent = len(left[table.parent]), places[held.parent[kept[table.name]]]
        else:
            kept[table.name] = np.arange(len(held)) != person
            parents = int(kept[table.name].sum())
            parent = np.arange(parents)
        codes = {name: one[kept[table.name]] for name, one in held.codes.items()}
        left[table.name] = Rows(codes, parent, parents)
    return left


def heavy(rows_of_one=50):
    """Two people in one table with one child: one of them has so many rows."""
    family = Family((Kin("t0", None), Kin("t1", None, parent="t0")))
    parent = np.repeat([0, 1], [rows_of_one, 2])
    rows = {
        "t0": Rows({"t0_0": np.array([0, 1])}, np.arange(2), 2),
        "t1": Rows({"t1_0": np.arange(len(parent)) % 2}, parent, 2),
    }
    return described(family, {"t0": [2], "t1": [2]}, rows)

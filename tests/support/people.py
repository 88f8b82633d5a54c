"""Rows of people with all rows, drawn at random, and what parties should count of them."""

import itertools
from dataclasses import replace

import numpy as np

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.people import ByLength, PeopleRows
from dpmosaic.common.data.table import Table
from dpmosaic.common.privacy.cost import WEIGHT_PARTS
from support.parties import random_table

DOMAIN = Domain.coded({"a": 2, "b": 3, "c": 2, "d": 4})
CLIQUES = [c for size in range(1, 5) for c in itertools.combinations(DOMAIN.names, size)]


def people_of(numbers, domain=DOMAIN, seed=7):
    """Rows of people who have so many rows each, some perhaps none."""
    table = random_table(domain, sum(numbers), seed)
    person = np.repeat(np.arange(len(numbers)), numbers)
    order = np.random.default_rng(seed).permutation(len(person))
    return PeopleRows.evenly(table.take(order), person[order], len(numbers), WEIGHT_PARTS)


def people_by_length(numbers, varying, evened, seed=7):
    """Rows of people that weigh by length; those of a person agree in all columns that are not `varying`."""
    rows = people_of(numbers, seed=seed)
    first = np.searchsorted(rows.person, rows.person)
    columns = {
        name: column if name in varying else column[first]
        for name, column in zip(DOMAIN.names, rows.table.columns, strict=True)
    }
    table = Table(DOMAIN, tuple(columns.values()))
    held = PeopleRows.weighing_evenly(table, rows.person, len(numbers), WEIGHT_PARTS, evened)
    return replace(held, by_length=ByLength(frozenset(varying), evened))


def vector(rows, person, names):
    """The cells of one person, by the definition: each row counts as one part of all, shape of the domain."""
    mine = np.flatnonzero(rows.person == person)
    found = np.zeros(rows.domain.shape(names))
    for row in mine:
        found[tuple(int(rows.table.column(name)[row]) for name in names)] += rows.weights[row] / rows.parts
    return found


def expected(rows, groups, clique):
    """The sum over people of the products of what each party of a slice holds of them, shape (n_r,)."""
    held = [[name for name in clique if name in group] for group in groups]
    held = [names for names in held if names]
    total = 0
    for person in range(rows.record_count):
        product = np.ones(())
        for names in held:
            product = np.multiply.outer(product, vector(rows, person, names))
        total = total + product
    order = [name for names in held for name in names]
    return np.transpose(total, [order.index(name) for name in clique]).ravel()

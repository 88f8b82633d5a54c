"""Releases of two tables that differ in one record, for black-box lower bounds on epsilon."""

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Any

from dpmosaic.common.privacy.budget import Budget
from dpmosaic.curator.mechanisms.catalogue import mechanism_named
from dpmosaic.synthesis.learning import limits
from support.betting import lower_bound
from support.odd_rows import DOMAIN, as_typed, plain_rows, with_row
from support.shown import by_command, csv_of, in_python, no_second_opinions, numbers_of

COLUMNS = ["age", "price", "flag", "city", "code"]

ODD_EVERYWHERE = {"age": "unknown", "price": "1e12", "flag": "", "city": "Zug", "code": "99"}
"""The only text among numbers, the largest number, the only missing cell and two labels that no other has."""


@dataclass(frozen=True)
class Pair:
    """Two tables that differ in one record, and how they are released.

    Attributes:
        release: makes a release; see `shown`.
        table: a table.
        neighbour: the other.
        epsilon: what the releases state.
    """

    release: Callable
    table: Any
    neighbour: Any
    epsilon: float

    def seen(self, releases):
        """What so many releases show, see `numbers_of`, and for each whether a coin chose the neighbour."""
        with no_second_opinions():
            sides = [bool(secrets.randbits(1)) for _ in range(releases)]
            shown = [self.release(self.neighbour if side else self.table)[0] for side in sides]
        return [numbers_of(one) for one in shown], sides

    def leaks(self, least, most):
        """Whether releases contradict `epsilon`.

        Args:
            least: number of releases at which they are looked at first, and then after each five more.
            most: number of releases after which the answer is no.
        """
        shown, sides = self.seen(least)
        while not (found := lower_bound(shown, sides) >= self.epsilon) and len(shown) < most:
            more, of = self.seen(5)
            shown, sides = shown + more, sides + of
        return found


def by_file(folder, *options, epsilon, rows, cells=ODD_EVERYWHERE, replaced=None, mechanism="independent"):
    """Of a file by the command; the neighbour has one row more, or another one in place of one."""
    given = ("--epsilon", str(epsilon), "--mechanism", mechanism, *options)
    table = rows if replaced is None else _with(rows, replaced)
    return Pair(by_command(folder, *given), csv_of(table), csv_of(_with(rows, cells)), epsilon)


def by_frame(*, epsilon, rows, cells=ODD_EVERYWHERE, typed=lambda rows: rows, **options):
    """Of a frame by a call; the neighbour has one row more."""
    release = in_python(epsilon=epsilon, **{"mechanism": "independent"} | options)
    return Pair(release, typed(rows), typed(_with(rows, cells)), epsilon)


def _with(rows, cells):
    return with_row(rows, cells)[list(rows)]


def reviewed(rows):
    """A domain of the columns."""
    return {name: DOMAIN[name] for name in rows}


def categorical(rows):
    """Numbers as such, and texts as Categoricals of those that occur."""
    return as_typed(rows).astype(dict.fromkeys({"flag", "city", "code"} & set(rows), "category"))


def just_learnable(epsilon, columns):
    """So many rows that about half of all releases without a domain are refused."""
    rho = float(mechanism_named("independent").granted(Budget(epsilon, 1e-9)))
    enough = (n for n in count(50, 50) if limits.weight(n, rho, len(columns)) >= limits._POOR)
    return plain_rows(next(enough))[columns]

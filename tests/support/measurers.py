"""Measurers without parties, for what mechanisms ask of them."""

import itertools
from fractions import Fraction

import numpy as np

from dpmosaic.common.data.domain import Domain
from dpmosaic.common.privacy.budget import Charge
from dpmosaic.common.privacy.cost import Adjacency, gaussian_cost, gaussian_sigma
from dpmosaic.curator.measurers.measurer import Measurer
from dpmosaic.curator.measurers.scores import score_charge

DOMAIN = Domain.coded({"a": 2})


class Bare(Measurer):
    """Charges Gaussian noise, and measures nothing."""

    def __init__(self, domain=DOMAIN, records=3, granted=1):
        super().__init__(domain, records, Fraction(granted))

    def expected_sigma(self, view, zcdp_rho):
        return gaussian_sigma(zcdp_rho, Adjacency.ZERO_OUT)

    def _charge(self, query):
        sigma = gaussian_sigma(query.zcdp_rho, Adjacency.ZERO_OUT)
        return Charge(query.step, query.clique, gaussian_cost(sigma, Adjacency.ZERO_OUT), ((sigma,),))

    def _answer(self, query, charge):
        raise NotImplementedError


class OfCounts(Bare):
    """Knows a table by the counts of its cells, and keeps what it was asked."""

    scores_exactly = True

    def __init__(self, domain, counts, records, granted=1):
        super().__init__(domain, records, granted)
        self._counts = np.array(counts).reshape(domain.sizes)
        self.asked = []

    def marginal(self, clique):
        summed = tuple(k for k, name in enumerate(self.domain) if name not in clique)
        return self._counts.sum(axis=summed).ravel()

    def charge_scores(self, views, zcdp_rho, step):
        """The deviation of scores that are charged."""
        charge = score_charge(step, len(views), zcdp_rho, Adjacency.ZERO_OUT, slices=1)
        self.charge(charge)
        return charge.sigmas[0][0]


def tables(cells, records):
    """All tables of `records` records, each in a cell or in none, as counts."""
    for places in itertools.combinations_with_replacement(range(cells + 1), records):
        yield tuple(np.bincount(places, minlength=cells + 1)[:cells].tolist())

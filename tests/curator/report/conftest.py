"""A certificate of a small release, written down, and tables to go with it."""

import itertools

import numpy as np
import pytest

from dpmosaic.common.data.attribute import CategoricalAttribute, CodedAttribute, NumericAttribute
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.curator.report.comparison import Comparison, ScoreTable

DOMAIN = Domain(
    (
        CategoricalAttribute("kind", ("", "<b>x</b>", "y")),
        NumericAttribute("age", 0, 99, 100, nullable=True),
        CodedAttribute("code", 4),
        CategoricalAttribute("town", tuple(f"town {place}" for place in range(20))),
    )
)


def rows(records, seed, domain=DOMAIN):
    rng = np.random.default_rng(seed)
    return Table.from_codes(
        domain, np.column_stack([np.minimum(rng.geometric(0.3, records) - 1, n - 1) for n in domain.sizes])
    )


def certificate_of(domain=DOMAIN):
    """Neighbours in domain order are modelled and measured; the first half lies with one party."""
    names = list(domain.names)
    half = len(names) // 2
    pairs = [[one, other] for place, one in enumerate(names) for other in names[place + 1 :]]
    return {
        "format": "dpmosaic certificate 1",
        "differentially_private": True,
        "labels": [],
        "created": "2026-01-02T03:04:05+00:00",
        "versions": {"dpmosaic": "0.1.0"},
        "plan": {
            "attributes": dict(zip(names, domain.sizes, strict=True)),
            "domain_digest": domain.digest(),
            "record_counts": [1200, 800],
            "parties": [[names[:half], names[half:]]] * 2,
            "protocol": "masked",
            "adjacency": "zero-out",
            "mechanism": {"name": "randdpgen"},
        },
        "promise": {
            "epsilon": 1.0,
            "delta": 1e-9,
            "zcdp_rho_granted": 0.02,
            "zcdp_rho_spent": 0.015,
            "observers": [
                {"who": "the public", "assumes": "nothing", "zcdp_rho": 0.01, "epsilon": 0.75},
                {"who": "the curator", "assumes": "no collusion", "zcdp_rho": 0.015, "epsilon": None},
            ],
        },
        "steps": {"one-way": 0.005, "a step of tomorrow": 0.01},
        "measurements": [
            *({"clique": [name], "sigma": 20.0} for name in names),
            *({"clique": [one, other], "sigma": 10.0} for one, other in itertools.pairwise(names)),
        ],
        "error_bounds": [
            {"clique": pair, "total_variation": 0.03 * place, "confidence": 0.95}
            for place, pair in enumerate(pairs)
        ],
        "model": {"cliques": [names[:1], *map(list, itertools.pairwise(names))]},
    }


def comparison_of(real):
    pairs = [(o, p) for i, o in enumerate(real.domain.names) for p in real.domain.names[i + 1 :]]
    scores = ScoreTable("Marginals & more", ("attributes", "distance"), (("1", "0.1"),), "0 is <best>.")
    return Comparison(real, dict.fromkeys(real.domain.names, 0.123), {p: 0.05 for p in pairs}, (scores,) * 3)


@pytest.fixture
def certificate():
    return certificate_of()


@pytest.fixture
def synthetic():
    return rows(300, 1)


@pytest.fixture
def comparison():
    return comparison_of(rows(500, 2))

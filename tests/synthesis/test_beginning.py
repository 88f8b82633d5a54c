"""What does not fit a mechanism is refused before anything is charged, whatever the mechanism."""

import itertools
import re
from unittest import mock

import numpy as np
import pandas as pd
import pytest

import dpmosaic
from dpmosaic.common.errors import MosaicError
from dpmosaic.common.privacy import noise
from dpmosaic.common.privacy.cost import Adjacency
from dpmosaic.curator.mechanisms.catalogue import CATALOGUE, Needs, mechanism_named

ROWS = pd.DataFrame({"a": np.arange(300) % 2, "b": np.arange(300) % 3, "c": np.arange(300) % 5})
DOMAIN = {"a": 2, "b": 3, "c": 5}
LARGE = {name: 60_000 for name in DOMAIN}

EVERY = [
    (name, variant, adjacency, domain)
    for name, entry in CATALOGUE.items()
    for variant, adjacency, domain in itertools.product(entry.variants, Adjacency, (DOMAIN, LARGE))
    # What reads records trains for minutes if it is not refused.
    if entry.needs is not Needs.RECORDS or adjacency is not Adjacency.ZERO_OUT
]


def refusal(tmp_path, **options):
    """Why a release is refused, None if it is made; and how often noise was drawn."""
    with mock.patch.object(noise, "discrete_gaussian", wraps=noise.discrete_gaussian) as drawn:
        try:
            dpmosaic.synthesize(ROWS, progress=False, ledger=tmp_path / "ledger.json", **options)
        except MosaicError as error:
            return error, drawn.call_count
    return None, drawn.call_count


@pytest.mark.slow
@pytest.mark.parametrize(("name", "variant", "adjacency", "domain"), EVERY)
def test_a_mechanism_makes_a_release_or_refuses_it_with_nothing_charged(
    tmp_path, name, variant, adjacency, domain
):
    options = {"mechanism": mechanism_named(name, variant), "adjacency": adjacency, "domain": domain}
    said, drawn = refusal(tmp_path, workload="2way", **options)
    assert (said is None) == (drawn > 0)
    assert (said is None) == (tmp_path / "ledger.json").exists()


OF_A_GAN = "expected the adjacency 'zero-out'|dpmosaic\\[gan\\]"


@pytest.mark.filterwarnings("ignore::dpmosaic.DomainWarning")
@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"mechanism": "dp-gan"}, OF_A_GAN),
        ({"mechanism": "dp-select"}, OF_A_GAN),
        ({"mechanism": "dp-gan", "domain": None, "anyway": True}, OF_A_GAN),
        ({"mechanism": mechanism_named("ppsyn", "paper")}, "reads exact marginals"),
        ({"mechanism": "aim", "domain": LARGE}, "more than 10000 cells"),
        ({"mechanism": mechanism_named("mst", settings={"max_model_mb": "1e-7"})}, "the smallest model"),
        ({"mechanism": "mosaic", "epsilon": 1e-9}, "less than 2\\^-28 zCDP"),
        ({"mechanism": "independent", "epsilon": 1e-9}, "less than 2\\^-28 zCDP"),
    ],
)
def test_what_does_not_fit_a_mechanism_is_refused_before_a_ledger_knows_of_it(tmp_path, options, why):
    said, _ = refusal(tmp_path, **{"domain": DOMAIN, **options})
    assert re.search(why, str(said))
    assert not (tmp_path / "ledger.json").exists()

"""ABSyn's scores: their sensitivity, their noise, and the inputs of the selection."""

import math

import numpy as np
import pytest

from dpmosaic.common.crypto.randomness import RandomStream
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.view import View
from dpmosaic.common.data.workload import Workload
from dpmosaic.common.errors import DataError, ModelError
from dpmosaic.common.measurement import Measurement
from dpmosaic.curator.measurers.measurer import Scores
from dpmosaic.curator.mechanisms.absyn import run as absyn_run
from dpmosaic.curator.mechanisms.absyn.absyn import ABSyn
from dpmosaic.curator.mechanisms.absyn.paper import PAPERS_SENSITIVITY
from dpmosaic.curator.mechanisms.parts import run
from dpmosaic.curator.mechanisms.parts.fitted import ignore
from support.measurers import OfCounts, tables

BOTH = pytest.mark.parametrize("config", [ABSyn(), ABSyn.of_the_paper()], ids=["default", "paper"])


class Transcript(OfCounts):
    """Exact scores of a table of counts, and noisy marginals from a fixed transcript that ignores it."""

    def score(self, views, references, zcdp_rho, step):
        references = list(references)
        sigma = self.charge_scores(views, zcdp_rho, step)
        pairs = zip([view.clique for view in views], references, strict=True)
        values = [float(np.abs(self.marginal(c) - r).sum()) for c, r in pairs]
        self.asked.append(([view.clique for view in views], references, values, sigma))
        return Scores(np.array(values), sigma)

    def _answer(self, query, charge):
        values = np.random.default_rng(self.domain.cells(query.clique)).normal(1.5, 0.5, 1000)
        cells = values[: self.domain.cells(query.clique)]
        return Measurement(View(query.clique), cells, charge.sigmas[0][0], float(charge.zcdp_rho))


def scores_of(config, domain, counts, records):
    measurer = Transcript(domain, counts, records)
    workload = Workload.all_kway(domain, 2)
    config.run(measurer, workload, RandomStream.from_seed(0), ignore)
    (asked,) = measurer.asked
    return asked


@pytest.mark.slow
def test_a_record_changes_no_score_by_more_than_1_over_all_neighbouring_tables():
    """Every table of three records over 2 x 3 and every one with a record less; the bound is attained."""
    domain, records = Domain.coded({"a": 2, "b": 3}), 3
    found = {}
    for counts in tables(6, records):
        _, references, values, sigma = scores_of(ABSyn(), domain, np.array(counts), records)
        found[counts] = references, values
        # The only score, of sensitivity 1, gets the whole tenth of the budget.
        assert 1 / (2 * sigma**2) == pytest.approx(0.1, rel=1e-3)
    largest = 0.0
    for counts, (references, values) in found.items():
        for cell in np.flatnonzero(counts):
            fewer = list(counts)
            fewer[cell] -= 1
            other_references, other_values = found[tuple(fewer)]
            assert all(np.array_equal(r, s) for r, s in zip(references, other_references, strict=True))
            largest = max(largest, abs(values[0] - other_values[0]))
    assert largest == 1.0


@pytest.mark.parametrize("sizes", [(2, 2), (2, 3)])
def test_the_papers_score_changes_by_more_than_1_and_less_than_the_4_that_it_is_charged_for(sizes):
    """Against the product of exact one-way marginals, with the number of records fixed."""

    def score(counts, records):
        joint = np.array(counts).reshape(sizes)
        return np.abs(joint - np.outer(joint.sum(axis=1), joint.sum(axis=0)) / records).sum()

    largest = 0.0
    for records in (2, 3, 4, 5):
        for counts in tables(math.prod(sizes), records):
            for cell in np.flatnonzero(counts):
                fewer = list(counts)
                fewer[cell] -= 1
                largest = max(largest, abs(score(counts, records) - score(fewer, records)))
    assert 1.5 < largest <= PAPERS_SENSITIVITY


@pytest.fixture
def chosen_from(monkeypatch):
    """The inputs of the selection, one entry for each run."""
    given = []

    def watched(domain, candidates, select=absyn_run.select_batch, **options):
        given.append((candidates, options))
        return select(domain, candidates, **options)

    monkeypatch.setattr(absyn_run, "select_batch", watched)
    return given


@pytest.mark.slow
@pytest.mark.parametrize(("config", "factor"), [(ABSyn(), 0), (ABSyn.of_the_paper(), math.sqrt(15))])
def test_the_paper_adds_the_noise_of_its_sensitivity_to_scores_and_the_default_none(
    config, factor, chosen_from
):
    """Noise of deviation 4 is the sum of independent noises of deviations 1 and sqrt(15)."""
    domain = Domain.coded({f"x{k}": 1 + k % 2 for k in range(20)})
    counts = np.zeros(domain.sizes, dtype=np.int64)
    counts.flat[0] = 500
    _, _, values, sigma = scores_of(config, domain, counts, 500)
    ((candidates, _),) = chosen_from
    added = (np.array(list(candidates.distances.values())) - values) / sigma
    drawn = RandomStream.from_seed(0).generator().standard_normal(190)
    assert np.allclose(added, factor * drawn)


@pytest.mark.parametrize(("config", "factor"), [(ABSyn(), 1), (ABSyn.of_the_paper(), 4)])
def test_bounds_use_the_noise_of_scores(config, factor, monkeypatch):
    given = []

    def watched(*args, end=run.ended, **options):
        given.append(options["scored"])
        return end(*args, **options)

    monkeypatch.setattr(run, "ended", watched)
    _, references, _, sigma = scores_of(config, Domain.coded({"a": 2, "b": 3}), np.ones(6, dtype=np.int64), 6)
    ((scored,),) = (given[0].values(),)
    assert scored.sigma == pytest.approx(factor * sigma)
    assert np.array_equal(scored.reference, references[0])


@BOTH
def test_expected_noise_has_its_closed_form_at_the_budget_of_measurements(config, chosen_from):
    domain = Domain.coded({"a": 2, "b": 3, "c": 4})
    scores_of(config, domain, np.ones(24, dtype=np.int64), 24)
    ((candidates, options),) = chosen_from
    for pair, noise in candidates.noise.items():
        assert noise == pytest.approx(domain.cells(pair) / math.sqrt(math.pi * 0.8), rel=1e-3)
    assert candidates.records == 24
    assert options["difference"] == (config.variant == "paper")


def test_refusals_charge_nothing():
    domain = Domain.coded({"a": 2, "b": 3})
    measurer = Transcript(domain, np.ones(6, dtype=np.int64), 6)
    workload = Workload.all_kway(domain, 2)
    with pytest.raises(ModelError, match="max_model_mb"):
        ABSyn(max_model_mb=1e-6).run(measurer, workload, RandomStream.from_seed(0), ignore)
    measurer.scores_exactly = False
    with pytest.raises(DataError, match=r"absyn.*trusted.*masked.*randdpgen"):
        ABSyn().run(measurer, workload, RandomStream.from_seed(0), ignore)
    assert measurer.accountant.charges == ()

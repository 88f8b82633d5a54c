"""All metrics of the codes of a synthetic table and the real one: not for publication."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ...common.data.table import Table, check_comparable
from ...common.data.workload import Workload
from .distances import Distance, attribute_distances, pair_distances
from .metrics import PRIVATE, KwayError, kway_errors
from .nist import Pay, classification_score, clustering_score, regression_score
from .other_metrics import OtherMetric, other_metrics
from .prediction import Prediction, predictions
from .range_queries import RangeError, range_errors
from .usefulness import Usefulness
from .values.distances import ValueDistances

KS = (1, 2, 3, 4)
_SEED = 0


@dataclass(frozen=True)
class NistScores:
    """The three scores of the 2018 NIST challenge, from 0 to 10^6.

    Attributes:
        clustering: see `clustering_score`.
        classification: see `classification_score`.
        regression: see `regression_score`; None without its attributes.
    """

    clustering: float
    classification: float
    regression: float | None


@dataclass(frozen=True)
class Evaluation:
    """A synthetic table compared with the real one.

    Attributes:
        records: numbers of records of the real table and of the synthetic one.
        kway: errors over k-way marginals, k = 1 to 4.
        workload_error: see `Workload.error`.
        range_queries: errors over random range queries.
        nist: scores of the NIST challenge.
        predictions: misclassification rates; empty without a target.
        attributes: the distance of each attribute.
        pairs: the distance of each pair.
        others: figures of metrics of other packages.
        values: distances of values; None if only codes were compared.
        usefulness: learners trained on either table; None without a target, or if only codes were compared.
    """

    records: tuple[int, int]
    kway: tuple[KwayError, ...]
    workload_error: float
    range_queries: tuple[RangeError, ...]
    nist: NistScores
    predictions: tuple[Prediction, ...]
    attributes: tuple[Distance, ...]
    pairs: tuple[Distance, ...]
    others: tuple[OtherMetric, ...] = ()
    values: ValueDistances | None = None
    usefulness: Usefulness | None = None

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "private": PRIVATE,
            "records": {"real": self.records[0], "synthetic": self.records[1]},
            "kway": [asdict(error) for error in self.kway],
            "workload_error": self.workload_error,
            "range_queries": [asdict(error) for error in self.range_queries],
            "nist": asdict(self.nist),
            "predictions": [
                {**asdict(found), "misclassification_variance": found.misclassification_variance}
                for found in self.predictions
            ],
            "attributes": [_distance(distance) for distance in self.attributes],
            "pairs": [_distance(distance) for distance in self.pairs],
            "others": [asdict(other) for other in self.others],
            "values": None if self.values is None else self.values.to_json(),
            "usefulness": None if self.usefulness is None else self.usefulness.to_json(),
        }


def evaluate(
    real: Table,
    synthetic: Table,
    *,
    target: str | None = None,
    holdout: Table | None = None,
    workload: Workload | None = None,
    pay: Pay | None = None,
    seed: int = _SEED,
) -> Evaluation:
    """Compares the codes of a synthetic table with those of the real one by every metric.

    Args:
        real: the table that was released.
        synthetic: of the same domain.
        target: attribute that classifiers predict; by default none are trained.
        holdout: real rows that the release has not used, to test classifiers on; needs a target.
        workload: of the workload error; by default all pairs, or the only attribute.
        pay: attributes of the regression score.
        seed: of splits, subsets and queries.

    Raises:
        DataError: the tables have different domains, one is empty, or target or pay do not fit.
        MissingExtraError: a target is given, and scikit-learn is not installed.
    """
    check_comparable(real, synthetic)
    predicted = [] if target is None else predictions(real, synthetic, target, holdout, seed=seed)
    nist = NistScores(
        clustering_score(real, synthetic, np.random.default_rng(seed)),
        classification_score(real, synthetic, np.random.default_rng(seed)),
        None if pay is None else regression_score(real, synthetic, pay),
    )
    return Evaluation(
        (real.record_count, synthetic.record_count),
        tuple(kway_errors(real, synthetic, KS)),
        Workload.wanted(real.domain, workload, None).error(real, synthetic),
        tuple(range_errors(real, synthetic, seed=seed)),
        nist,
        tuple(predicted),
        tuple(attribute_distances(real, synthetic)),
        tuple(pair_distances(real, synthetic)),
        other_metrics(real, synthetic),
    )


def _distance(distance: Distance) -> dict[str, Any]:
    return {
        "clique": list(distance.clique),
        "total_variation": distance.total_variation,
        "kl": distance.kl,
    }

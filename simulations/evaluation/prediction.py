"""Classifiers trained on the synthetic table and tested on real rows: not for publication."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ...common.data.attributes.dates import bins_of
from ...common.data.domain import Domain
from ...common.data.table import Table, check_comparable
from ...common.errors import DataError
from ...common.extras import require_extra

CLASSIFIERS = ("svm", "tree")
TEST_SHARE = 0.2
TRAINING_ROWS = 100_000
"""Largest number of training rows; of more, a seeded random sample is used."""

_DEPTH = 10
_SEED = 0


@dataclass(frozen=True)
class Prediction:
    """Misclassification rates on the same real rows, in 0..1.

    Attributes:
        target: attribute that is predicted from all others.
        classifier: "svm" or "tree".
        synthetic: rate of the classifier that is trained on synthetic rows.
        real: rate of the classifier that is trained on real rows.
        majority: rate of always predicting the most common value of those real rows.
        test_rows: number of rows that were tested.
    """

    target: str
    classifier: str
    synthetic: float
    real: float
    majority: float
    test_rows: int

    @property
    def misclassification_variance(self) -> float:
        """The rate of the classifier of synthetic rows minus that of real rows; chance can make it negative.

        Source: RandDPGen, section 6.1, "misclassification variance".
        """
        return self.synthetic - self.real


def predictions(
    real: Table,
    synthetic: Table,
    target: str,
    holdout: Table | None = None,
    classifiers: Sequence[str] = CLASSIFIERS,
    seed: int = _SEED,
) -> list[Prediction]:
    """Misclassification rates of each classifier, trained on either table.

    Source: RandDPGen, section 6.1: trained on 80 % of the synthetic rows and tested on 20 % of the real rows;
        the classifier for comparison is trained on the other 80 % of the real rows.

    Args:
        real: training rows of the classifier for comparison.
        synthetic: of the same domain.
        target: attribute to predict.
        holdout: real rows to test on, which the release has not used; then all of `real` and `synthetic` is
            used for training. By default a random fifth of the real rows.
        classifiers: "svm", "tree"; see `misclassification_rate`.
        seed: of the split.

    Raises:
        DataError: the tables have different domains, one has too few records, or the target has one value.
    """
    check_comparable(real, synthetic)
    if holdout is None:
        rng = np.random.default_rng(seed)
        real, test = _split(real, rng)
        synthetic, _ = _split(synthetic, rng)
    else:
        check_comparable(real, holdout)
        test = holdout
    counts = real.marginal((target,))
    majority = float(np.mean(test.column(target) != np.argmax(counts)))
    return [
        Prediction(
            target,
            classifier,
            misclassification_rate(synthetic, test, target, classifier, seed),
            misclassification_rate(real, test, target, classifier, seed),
            majority,
            test.record_count,
        )
        for classifier in classifiers
    ]


def misclassification_rate(
    train: Table, test: Table, target: str, classifier: str = "svm", seed: int = _SEED
) -> float:
    """The share of test rows whose target a classifier predicts wrongly.

    "svm" is a linear support vector machine with squared hinge loss and C = 1, one against the rest where the
    target has more than two values. The papers say "SVM" and name neither kernel nor loss; a linear
    one is solved exactly at any size, while a kernel matrix grows with the square of the rows. A numeric
    attribute is encoded as a number from 0 to 1 and an indicator of a missing value, any other by one
    indicator for each code.
    "tree" is a decision tree of depth 10 over the codes as numbers.

    Source: RandDPGen, section 6.1, and PPSyn, section 5.2.1 (SVM); DP-Select, section 5.1.3 (tree).

    Args:
        train: training rows; of more than `TRAINING_ROWS` a random sample is used.
        test: test rows, of the same domain.
        target: attribute to predict from all others.
        classifier: "svm" or "tree".
        seed: of the sample, and of the tree's choice among equally good splits.

    Raises:
        DataError: the target has one value or is the only attribute, or there is no such classifier.
        MissingExtraError: scikit-learn is not installed.
    """
    require_extra("eval")
    check_comparable(train, test)
    if train.domain[target].size < 2 or len(train.domain) < 2:
        raise DataError(
            f"target {target!r}: expected two values or more, and other attributes to predict it from; "
            "name another target"
        )
    if train.record_count > TRAINING_ROWS:
        rng = np.random.default_rng(seed)
        train = train.take(rng.choice(train.record_count, TRAINING_ROWS, replace=False))
    known = train.column(target)
    if (known == known[0]).all():
        return float(np.mean(test.column(target) != known[0]))
    model, features = _classifier(classifier, train.domain, target, seed)
    model.fit(features(train), known)
    return float(np.mean(model.predict(features(test)) != test.column(target)))


class _Features(Protocol):
    def __call__(self, table: Table) -> Any: ...


def _classifier(name: str, domain: Domain, target: str, seed: int) -> tuple[Any, _Features]:
    from sklearn.svm import LinearSVC
    from sklearn.tree import DecisionTreeClassifier

    others = [other for other in domain if other != target]
    if name == "svm":
        # The solver of the primal problem is deterministic and needs few steps.
        return LinearSVC(C=1.0, dual=False), lambda table: _indicators(table.project(others))
    if name == "tree":
        model = DecisionTreeClassifier(max_depth=_DEPTH, random_state=seed)
        return model, lambda table: np.column_stack([table.column(other) for other in others])
    raise DataError(f"classifier: expected one of {', '.join(CLASSIFIERS)}, got {name!r}")


def _split(table: Table, rng: np.random.Generator) -> tuple[Table, Table]:
    """Four fifths of the rows, and the rest."""
    tested = round(TEST_SHARE * table.record_count)
    if not tested:
        raise DataError("expected at least 3 records, to train and to test on, got fewer; give more")
    order = rng.permutation(table.record_count)
    return table.take(order[tested:]), table.take(order[:tested])


def _indicators(table: Table) -> Any:
    """Features as a sparse CSR matrix, shape (N, features), with one entry for each row and attribute."""
    from scipy.sparse import csr_matrix

    width = 0
    places: list[NDArray[np.int64]] = []
    values: list[NDArray[np.float64]] = []
    for attribute in table.domain.attributes:
        codes = table.column(attribute.name).astype(np.int64)
        bins = bins_of(attribute)
        if bins is not None:
            held = len(bins.cells)
            # A text or a missing value has a feature of its own.
            beside = np.maximum(0, codes - held + 1)
            places.append(width + beside)
            values.append(np.where(beside > 0, 1.0, codes / max(1, held - 1)))
            width += 1 + bins.others
        else:
            places.append(width + codes)
            values.append(np.ones(len(codes)))
            width += attribute.size
    rows, count = table.record_count, len(places)
    return csr_matrix(
        (np.column_stack(values).ravel(), np.column_stack(places).ravel(), np.arange(rows + 1) * count),
        shape=(rows, width),
    )

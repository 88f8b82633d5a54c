"""What learners trained on synthetic rows achieve on real ones: not for publication.

"Train on synthetic, test on real": the figure of a learner trained on synthetic rows, beside that of the same
learner trained on real rows, on the same test rows. It is what a user of the synthetic table loses.
"""

from __future__ import annotations

import warnings
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...common.data.table import check_comparable
from ...common.errors import DataError
from ...common.extras import require_extra
from .features import Features
from .prediction import TEST_SHARE
from .values.values import Values

LEARNERS = ("gradient boosting", "random forest", "linear")
USEFULNESS_ROWS = 50_000
"""Largest number of training rows; of more, a seeded random sample is used."""

MOST_CLASSES = 10
"""Most values of a target that are predicted; all rarer ones count as one of them."""

_TREES = 100
_LEAST_LEAF = 5
_SEED = 0

Array = NDArray[Any]


@dataclass(frozen=True)
class ClassScores:
    """How well classes are predicted.

    Attributes:
        auc: area under the ROC curve; with three or more classes the mean over each against the rest. A
            learner that has not seen a class has 0.5 for it. None if the test rows have one class.
        accuracy: share of the test rows predicted right.
    """

    auc: float | None
    accuracy: float


@dataclass(frozen=True)
class NumberScores:
    """How well a number is predicted.

    Attributes:
        r2: share of the variance that is explained; negative if worse than the mean of the test rows. None if
            all test rows have the same number.
        mae: mean absolute error, in the unit of the number.
    """

    r2: float | None
    mae: float


Scores = ClassScores | NumberScores


@dataclass(frozen=True)
class Learned:
    """One learner.

    Attributes:
        learner: "gradient boosting", "random forest" or "linear": a logistic regression or, for a number, a
            linear one.
        synthetic: scores after training on synthetic rows.
        real: scores after training on real rows.
    """

    learner: str
    synthetic: Scores
    real: Scores


@dataclass(frozen=True)
class Usefulness:
    """Learners trained on synthetic rows and on real ones, and tested on the same real rows.

    Attributes:
        target: attribute that is predicted from all others.
        learned: one entry for each learner.
        constant: scores of always predicting the most common class of the real training rows, or the median.
        train_rows: numbers of synthetic and of real training rows.
        test_rows: number of real test rows.
        held_out: whether the release has not used the test rows.
        classes: number of classes in the real training rows; None if a number is predicted.
    """

    target: str
    learned: tuple[Learned, ...]
    constant: Scores
    train_rows: tuple[int, int]
    test_rows: int
    held_out: bool
    classes: int | None

    def to_json(self) -> dict[str, Any]:
        """The figures as JSON values."""
        return {**asdict(self), "train_rows": dict(zip(("synthetic", "real"), self.train_rows, strict=True))}


def usefulness(
    real: Values, synthetic: Values, target: str, holdout: Values | None = None, seed: int = _SEED
) -> Usefulness:
    """Trains every learner on either table and tests it on real rows.

    A target that is a number of three or more values is predicted as one, and rows without it are left out;
    any other target has one class for each code, a missing value among them.

    Args:
        real: rows that the release has used.
        synthetic: of the same domain.
        target: attribute to predict.
        holdout: real rows to test on, which the release has not used. By default a random fifth of the real
            rows, which are then not trained on, but which the release has used.
        seed: of the split, of samples and of the learners.

    Raises:
        DataError: the tables have different domains, the target is unknown or the only attribute, or it has
            one value in the real rows, or a table has too few rows with it.
        MissingExtraError: scikit-learn is not installed.
    """
    require_extra("eval")
    from threadpoolctl import threadpool_limits

    check_comparable(real.table, synthetic.table)
    if holdout is not None:
        check_comparable(real.table, holdout.table)
    if target not in real.table.domain or len(real.table.domain) < 2:
        raise DataError(
            f"target: expected an attribute of the domain beside others, got {target!r}; name another target"
        )
    numeric = target in real.numbers and len(np.unique(_without_missing(real.numbers[target]))) > 2
    if numeric:
        real, synthetic = _with_target(real, target), _with_target(synthetic, target)
        holdout = None if holdout is None else _with_target(holdout, target)
    rng = np.random.default_rng(seed)
    test = holdout
    if test is None:
        order = rng.permutation(real.table.record_count)
        tested = round(TEST_SHARE * len(order))
        test, real = real.take(order[:tested]), real.take(order[tested:])
    if not min(rows.table.record_count for rows in (real, synthetic, test)):
        raise DataError(
            f"target {target!r}: expected rows with a value to train and to test on in each table, got none "
            "in one of them; give more rows or name another target"
        )
    trained = {"synthetic": _sample(synthetic, rng), "real": _sample(real, rng)}
    task = _Numbers(target, seed) if numeric else _Classes.of(real, target, seed)
    constant = task.constant(trained["real"], test)
    # One thread: figures do not depend on the machine, and threads that wait for a busy core cost far more.
    with threadpool_limits(1):
        found = {name: [task.scores(rows, test, one) for one in LEARNERS] for name, rows in trained.items()}
    return Usefulness(
        target,
        tuple(Learned(*one) for one in zip(LEARNERS, found["synthetic"], found["real"], strict=True)),
        constant,
        (trained["synthetic"].table.record_count, trained["real"].table.record_count),
        test.table.record_count,
        holdout is not None,
        None if isinstance(task, _Numbers) else task.classes,
    )


@dataclass(frozen=True)
class _Numbers:
    """Prediction of a number."""

    target: str
    seed: int

    def scores(self, train: Values, test: Values, learner: str) -> Scores:
        from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
        from sklearn.linear_model import Ridge

        features = Features.of(train, self.target)
        if learner == "gradient boosting":
            model = HistGradientBoostingRegressor(
                categorical_features=features.are_categories, random_state=self.seed
            )
        elif learner == "random forest":
            model = RandomForestRegressor(
                _TREES, min_samples_leaf=_LEAST_LEAF, max_features=1 / 3, random_state=self.seed
            )
        else:
            model = Ridge()
        model.fit(_features(features, train, learner), train.numbers[self.target])
        return self._of(test, model.predict(_features(features, test, learner)))

    def constant(self, train: Values, test: Values) -> Scores:
        return self._of(test, np.full(test.table.record_count, np.median(train.numbers[self.target])))

    def _of(self, test: Values, predicted: Array) -> Scores:
        known = test.numbers[self.target]
        away = known - predicted
        variance = float(((known - known.mean()) ** 2).sum())
        r2 = 1 - float((away**2).sum()) / variance if variance > 0 else None
        return NumberScores(r2, float(np.abs(away).mean()))


@dataclass(frozen=True)
class _Classes:
    """Prediction of classes.

    Attributes:
        target: attribute to predict.
        places: the class of each code, shape (size,).
        classes: number of classes that occur in the real training rows.
        seed: of the learners.
    """

    target: str
    places: tuple[int, ...]
    classes: int
    seed: int

    @classmethod
    def of(cls, real: Values, target: str, seed: int) -> _Classes:
        """Classes of the codes that occur in real rows, the rarer ones together with those that do not."""
        counts = real.table.marginal((target,)).ravel()
        common = np.argsort(-counts, kind="stable")[: min(MOST_CLASSES, int((counts > 0).sum()))]
        if len(common) < 2:
            raise DataError(
                f"target {target!r}: expected two values or more in the real rows, got fewer; name another"
            )
        if (counts > 0).sum() > MOST_CLASSES:
            common = common[:-1]
        places = np.full(len(counts), len(common))
        places[np.sort(common)] = np.arange(len(common))
        return cls(target, tuple(places.tolist()), len(np.unique(places[counts > 0])), seed)

    def scores(self, train: Values, test: Values, learner: str) -> Scores:
        from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.linear_model import LogisticRegression

        known = self._of(train)
        if (known == known[0]).all():
            return self._always(int(known[0]), test)
        features = Features.of(train, self.target)
        if learner == "gradient boosting":
            # It would set aside a stratified part to stop early, which fails for a class of one row.
            model = HistGradientBoostingClassifier(
                categorical_features=features.are_categories, early_stopping=False, random_state=self.seed
            )
        elif learner == "random forest":
            model = RandomForestClassifier(_TREES, min_samples_leaf=_LEAST_LEAF, random_state=self.seed)
        else:
            model = LogisticRegression(max_iter=200)
        with warnings.catch_warnings():
            # The steps bound the time; the figures hardly change after them.
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(_features(features, train, learner), known)
        likely = np.zeros((test.table.record_count, max(self.places) + 1))
        likely[:, model.classes_] = model.predict_proba(_features(features, test, learner))
        return self._scores(test, likely)

    def constant(self, train: Values, test: Values) -> Scores:
        return self._always(int(np.argmax(np.bincount(self._of(train)))), test)

    def _always(self, one: int, test: Values) -> Scores:
        certain = np.arange(max(self.places) + 1) == one
        return self._scores(test, np.tile(certain, (test.table.record_count, 1)))

    def _scores(self, test: Values, likely: Array) -> Scores:
        from sklearn.metrics import roc_auc_score

        known = self._of(test)
        present = np.unique(known)
        areas = [] if len(present) < 2 else [roc_auc_score(known == c, likely[:, c]) for c in present]
        auc = float(np.mean(areas)) if areas else None
        return ClassScores(auc, float((likely.argmax(axis=1) == known).mean()))

    def _of(self, rows: Values) -> NDArray[np.int64]:
        places = np.array(self.places, dtype=np.int64)
        return np.asarray(places[rows.table.column(self.target)])


def _features(features: Features, rows: Values, learner: str) -> NDArray[np.float32]:
    if learner == "gradient boosting":
        return features.columns(rows)
    return features.indicators(rows) if learner == "random forest" else features.standardise(rows)


def _with_target(rows: Values, target: str) -> Values:
    """The rows with a number of the target."""
    return rows.take(np.flatnonzero(~np.isnan(rows.numbers[target])))


def _without_missing(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    return numbers[~np.isnan(numbers)]


def _sample(rows: Values, rng: np.random.Generator) -> Values:
    count = rows.table.record_count
    return rows.take(rng.choice(count, USEFULNESS_ROWS, replace=False)) if count > USEFULNESS_ROWS else rows

"""An evaluation as tables, for a terminal and for a report."""

from __future__ import annotations

from ...common.data.table import Table
from ...curator.report.comparison import Comparison, ScoreTable
from .distances import Distance, worst
from .evaluation import Evaluation
from .other_metrics import OtherMetric
from .usefulness import ClassScores, Scores, Usefulness
from .values.tables import value_tables

_WORST_SHOWN = 5
_SHOWN_ON_PAGE = 20


def comparison(found: Evaluation, real: Table) -> Comparison:
    """What the report of an evaluation shows beside the synthetic table."""
    return Comparison(
        real,
        {distance.clique[0]: distance.total_variation for distance in found.attributes},
        {(d.clique[0], d.clique[1]): d.total_variation for d in found.pairs},
        tuple(
            (
                *score_tables(found),
                *([] if found.values is None else value_tables(found.values, _SHOWN_ON_PAGE)),
            )
        ),
    )


def score_tables(found: Evaluation) -> list[ScoreTable]:
    """Tables of all scores of codes; the distances of attributes and pairs are `furthest_tables`."""
    tables = [_marginals(found)]
    if found.usefulness is not None:
        tables.append(usefulness_table(found.usefulness))
    if found.predictions:
        tables.append(_predictions(found))
    if found.range_queries:
        tables.append(_range_queries(found))
    tables.append(_nist(found))
    return [*tables, *map(_other, found.others)]


def furthest_tables(found: Evaluation) -> list[ScoreTable]:
    """The values, attributes and pairs with the largest distances."""
    tables = [] if found.values is None else value_tables(found.values, _WORST_SHOWN)
    tables.append(_furthest("Furthest attributes", "attribute", found.attributes))
    if found.pairs:
        tables.append(_furthest("Furthest pairs", "pair", found.pairs))
    return tables


def _marginals(found: Evaluation) -> ScoreTable:
    return ScoreTable(
        "Marginals",
        ("attributes", "compared", "total variation", "KL"),
        tuple((f"{e.k}", f"{e.cliques}", f"{e.total_variation:.4f}", f"{e.kl:.4f}") for e in found.kway),
        f"Averages; 0 means equal, a total variation of 1 means disjoint. Workload error: "
        f"{found.workload_error:.4f}.",
    )


def usefulness_table(found: Usefulness) -> ScoreTable:
    """The scores of each learner, trained on synthetic records and on real ones."""
    names = ("AUC", "accuracy") if isinstance(found.constant, ClassScores) else ("R²", "mean absolute error")
    constant = "the most common class" if found.classes else "the median"
    scores = [(one.learner, _score_texts(one.synthetic), _score_texts(one.real)) for one in found.learned]
    scores.append((constant, ("–", "–"), _score_texts(found.constant)))
    tested = "that the release has not used" if found.held_out else "that the release has used too"
    classes = (
        f" Of {found.classes} classes, the AUC is the mean of one against the rest."
        if (found.classes or 0) > 2
        else ""
    )
    return ScoreTable(
        f"Usefulness: prediction of {found.target}",
        ("learner", *(f"{name}, {kind}" for name in names for kind in ("synthetic", "real"))),
        tuple((name, made[0], real[0], made[1], real[1]) for name, made, real in scores),
        f"Trained on {found.train_rows[0]:,} synthetic records and on {found.train_rows[1]:,} real ones, "
        f"tested on {found.test_rows:,} real records {tested}.{classes}",
    )


def _score_texts(scores: Scores) -> tuple[str, str]:
    if isinstance(scores, ClassScores):
        return "–" if scores.auc is None else f"{scores.auc:.4f}", f"{scores.accuracy:.4f}"
    return "–" if scores.r2 is None else f"{scores.r2:.4f}", f"{scores.mae:,.4g}"


def _predictions(found: Evaluation) -> ScoreTable:
    rows = tuple(
        (
            p.classifier,
            f"{p.synthetic:.4f}",
            f"{p.real:.4f}",
            f"{p.misclassification_variance:+.4f}",
            f"{p.majority:.4f}",
        )
        for p in found.predictions
    )
    return ScoreTable(
        f"Misclassification of {found.predictions[0].target}",
        ("classifier", "synthetic", "real", "difference", "majority"),
        rows,
        f"Shares of {found.predictions[0].test_rows:,} real records predicted wrongly by classifiers trained "
        "on synthetic records, and on real ones.",
    )


def _range_queries(found: Evaluation) -> ScoreTable:
    return ScoreTable(
        "Range queries",
        ("attributes", "queries", "mean absolute", "mean squared"),
        tuple(
            (f"{e.dimensions}", f"{e.queries}", f"{e.mean_absolute:.5f}", f"{e.mean_squared:.2e}")
            for e in found.range_queries
        ),
        "Errors of the share of records that lie between two values of each attribute.",
    )


def _nist(found: Evaluation) -> ScoreTable:
    scores = [("clustering", found.nist.clustering), ("classification", found.nist.classification)]
    if found.nist.regression is not None:
        scores.append(("regression", found.nist.regression))
    return ScoreTable(
        "NIST challenge, 2018",
        ("score", "points"),
        tuple((name, f"{points:,.0f}") for name, points in scores),
        "1,000,000 is perfect.",
    )


def _other(found: OtherMetric) -> ScoreTable:
    rows = tuple((name, f"{figure:.6g}") for name, figure in found.figures.items())
    return ScoreTable(found.name, ("figure", "value"), rows, f"By the package {found.package}.")


def _furthest(title: str, heading: str, distances: tuple[Distance, ...]) -> ScoreTable:
    return ScoreTable(
        title,
        (heading, "total variation", "KL"),
        tuple(
            (" x ".join(d.clique), f"{d.total_variation:.4f}", f"{d.kl:.4f}")
            for d in worst(distances, _WORST_SHOWN)
        ),
    )

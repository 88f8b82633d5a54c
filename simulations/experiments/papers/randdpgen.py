"""Common parts of the experiments of the RandDPGen paper.

Source: "High-dimensional Hybrid Partitioned Data Release under Differential Privacy", sections 6 and E.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ..cell import Cell
from ..experiment import Axis, Line, Panel, Point, Reported, Shown, at_epsilon

EPSILONS = (0.1, 0.2, 0.4, 0.8, 1.0)
EPSILON_AXIS = Axis("epsilon", EPSILONS, at_epsilon)
QUICK_EPSILONS = (0.1, 1.0)

ADULT = Cell("adult", binary=True, measures=("kway", "svm"), label="income.bit0")
BIG5 = Cell("big5", binary=True, measures=("kway", "svm"), label="gender.bit1")

KL = Shown("kl_2way", "KL divergence of pairs", log=True)
TV_OF_PAIRS = Shown("tv_2way", "total variation of pairs", log=True)
TV_OF_TRIPLES = Shown("tv_3way", "total variation of triples", log=True)
SVM = Shown("misclassification_variance", "misclassification variance")

RANDDPGEN_MODEL_MB = 0.02
THEOREM = Line("RandDPGen, theorem", {"variant": "paper", "protocol": "theorem"})
INDICATOR = Line("RandDPGen, indicator", {"variant": "paper", "protocol": "indicator"})
MASKED = Line("RandDPGen, masked", {"protocol": "masked"}, {"max_model_mb": RANDDPGEN_MODEL_MB})
OURS = (THEOREM, INDICATOR, MASKED)

NOISE = (
    "“theorem” draws the noise that the paper's Theorem 4.1 states, with variance K S² / 2ρ in every cell, "
    "and follows Algorithm 2 exactly. No protocol has this noise: the theorem ignores that the noise of each "
    "record is added up over all records. Compare these numbers with the paper's; they are not "
    "differentially private.",
    "“indicator” follows the paper's Algorithms 1 and 2 exactly. A product of two parties' noisy indicators, "
    "added up over N records, has a variance that grows with N. If the noise exceeds the counts, Algorithm 2 "
    "selects the noisiest pairs, and the fitted model does not depend on the data: more budget does not help "
    "until the noise is below the counts.",
    "“masked” is the default of this program. Noise is added once to sums that no role sees without it. It "
    "is "
    "the noise of one trusted place times a factor for colluding parties, so it does not grow with K and S "
    "as "
    "the theorem's does. Pairs are selected by noisy distances, and values measured for selection are used "
    f"to fit. The model is limited to {RANDDPGEN_MODEL_MB} MB here to save time; "
    "the limit of a release is 32 MB.",
)
TABLES = (
    "Every attribute is coded in binary digits, numbers by the bins of their domain files. The paper "
    "binarises “each categorical attribute” and does not state how it treats numbers.",
    "Parties hold consecutive attributes and rows, as evenly as possible. The paper reports that other "
    "splits "
    "behave alike and does not state its split.",
)
DIVERGENCE = (
    "The paper reports one KL divergence per table and does not state over which marginals. Over the whole "
    "domain it is infinite if the synthetic table misses one real record. Here it is the average over pairs "
    "of "
    "the binary attributes (a seeded sample of 300), KL(real ‖ synthetic) in nats, with half a record added "
    "to every cell of the synthetic table. Ratios of “theorem” to the paper near 1 are the best agreement "
    "that "
    "such numbers can show.",
)
BUDGET = (
    "The paper states no delta; it is 1e-9 here. It converts epsilon to ρ by ρ + 2 sqrt(ρ log(1/δ)), and so "
    "do “theorem” and “indicator”; “masked” uses the exact conversion for Gaussian noise, which allows more.",
    "The paper averages five runs, like `--seeds 5` here; the default is one run.",
)
CLASSIFIER = (
    "The classifier is a linear support vector machine on the binary digits; the paper states no kernel. For "
    "Big5 it predicts the last digit of the gender's code, 1 for male and other, 0 for female and unknown; "
    "the gender's other digit is not a feature, since it would reveal the label.",
)
NO_NUMBERS = (
    "The paper shows these results as a figure, without numbers, so there is no column of them here.",
)


def grids(*parties: int) -> tuple[Panel, ...]:
    """Adult and Big5 over grids with K = S."""
    return tuple(
        Panel(f"{title}, K = S = {count}", replace(base, grid=f"{count}x{count}"))
        for title, base in (("Adult", ADULT), ("Big5", BIG5))
        for count in parties
    )


def numbers_of_paper(label: str, lines: tuple[Line, ...], rows: Mapping[str, tuple[float, ...]]) -> Reported:
    """Numbers of the paper by panel, one for each epsilon."""
    numbers: dict[tuple[str, Point], float] = {
        (panel, epsilon): number
        for panel, values in rows.items()
        for epsilon, number in zip(EPSILONS, values, strict=True)
    }
    return Reported(label, KL.value, numbers, tuple(line.label for line in lines))

"""What the experiments of the RandDPGen paper have in common.

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

MODEL_MB = 0.02
THEOREM = Line("RandDPGen, theorem", {"variant": "paper", "protocol": "theorem"})
INDICATOR = Line("RandDPGen, indicator", {"variant": "paper", "protocol": "indicator"})
MASKED = Line("RandDPGen, masked", {"protocol": "masked"}, {"max_model_mb": MODEL_MB})
OURS = (THEOREM, INDICATOR, MASKED)

NOISE = (
    "“theorem” draws the noise that the paper's Theorem 4.1 states, with variance K S² / 2ρ in every cell, "
    "and follows Algorithm 2 to the letter. No protocol has this noise: the theorem leaves out that each "
    "record's noise is added up over all records. These numbers are the ones to compare with the paper's; "
    "they are not differentially private.",
    "“indicator” is the paper's Algorithm 1 as it is written, and Algorithm 2 to the letter. A product of "
    "two parties' noisy indicators, added up over N records, has a variance that grows with N. Where the "
    "noise is larger than the table, Algorithm 2 selects the noisiest pairs, and what is fitted has nothing "
    "to do with the data: more budget does not help before the noise is below the counts.",
    "“masked” is what this program does unless told otherwise. Noise is added once to sums that nobody sees "
    "without it, with the noise of one trusted place up to a factor for parties that collude, so it does not "
    "grow with K and S as the theorem's does; pairs are selected by noisy distances, and what is measured to "
    f"select is used to fit. Its model is limited to {MODEL_MB} MB here, for time; the limit of a release is "
    "32 MB.",
)
TABLES = (
    "Every attribute is written in binary digits, numbers by the bins of their domain files. The paper "
    "binarises “each categorical attribute”, and does not say what became of numbers.",
    "Parties hold consecutive attributes and rows, as even as possible. The paper says that other splits "
    "behave alike, and does not say which it takes.",
)
DIVERGENCE = (
    "The paper prints one KL divergence for a table and does not say over what. Over the whole domain it is "
    "infinite for every synthetic table that misses one real record. Here it is the average over pairs of "
    "the binary attributes (a seeded sample of 300), KL(real ‖ synthetic) in nats, with half a record added "
    "to every cell of the synthetic table. Ratios of “theorem” to the paper near 1 are as much agreement as "
    "two numbers of this kind can show.",
)
BUDGET = (
    "The paper gives no delta; it is 1e-9 here. It converts epsilon to ρ by ρ + 2 sqrt(ρ log(1/δ)), and so "
    "do “theorem” and “indicator”; “masked” uses the exact conversion for Gaussian noise, which allows more.",
    "The paper averages five runs; `--seeds 5` does so here, one run is made unless asked for more.",
)
CLASSIFIER = (
    "The classifier is a linear support vector machine on the binary digits; the paper names no kernel. For "
    "Big5 it predicts the last digit of the gender's code, 1 for male and other, 0 for female and unknown; "
    "the gender's other digit is not among what it is predicted from, for it would give it away.",
)
NO_NUMBERS = (
    "The paper shows this as a figure without numbers in its text, so there is no column of them here.",
)


def grids(*parties: int) -> tuple[Panel, ...]:
    """Adult and Big5 over K = S parties either way."""
    return tuple(
        Panel(f"{title}, K = S = {count}", replace(base, grid=f"{count}x{count}"))
        for title, base in (("Adult", ADULT), ("Big5", BIG5))
        for count in parties
    )


def reported(
    label: str, lines: tuple[Line, ...], rows: Mapping[str, tuple[float, ...]], value: str = KL.value
) -> Reported:
    """Numbers of the paper by panel, one for each epsilon."""
    numbers: dict[tuple[str, Point], float] = {
        (panel, epsilon): number
        for panel, values in rows.items()
        for epsilon, number in zip(EPSILONS, values, strict=True)
    }
    return Reported(label, value, numbers, tuple(line.label for line in lines))

"""Tables 1 to 3 of the RandDPGen paper."""

from __future__ import annotations

from dataclasses import replace

from ..experiment import Experiment, Line, Panel, Quick
from .randdpgen import (
    ADULT,
    BIG5,
    BUDGET,
    DIVERGENCE,
    EPSILON_AXIS,
    KL,
    NOISE,
    OURS,
    QUICK_EPSILONS,
    TABLES,
    grids,
    numbers_of_paper,
)

PDBN = Line("PDBN, masked", {"method": "pdbn", "protocol": "masked"})
PDBN_BY_INDICATOR = Line("PDBN, indicator", {"method": "pdbn", "protocol": "indicator"})
DPLT = Line("DPLT", {"method": "dplt"})
IND_PRIVBAYES = Line("Ind-PrivBayes", {"method": "ind-privbayes"})
DP_SUBN = Line("DP-SUBN", {"method": "dp-subn"})

OVER_COLUMNS = (*OURS, PDBN, PDBN_BY_INDICATOR, DPLT)
OVER_ROWS = (*OURS, IND_PRIVBAYES, DP_SUBN)

BASELINES_ARE_OURS = (
    "The programs of the baselines are not fully public. Our reconstructions are described below; if their "
    "results differ from the paper's, either program may be the reason.",
)
WHOLE_ROWS = (
    "If each party holds whole rows, “indicator” has no products: every party sums its records and adds "
    "noise "
    "once, so the variance is K times that of a trusted place.",
)

_HYBRID_DIFFERS = (*NOISE, *TABLES, *DIVERGENCE, *BUDGET)

TABLE_1 = Experiment(
    "randdpgen-table1",
    "KL divergence over hybrid partitions",
    "RandDPGen, Table 1",
    EPSILON_AXIS,
    grids(2, 3, 4),
    OURS,
    (KL,),
    Quick((1.0,), ("Adult, K = S = 2", "Big5, K = S = 2")),
    _HYBRID_DIFFERS,
    (
        numbers_of_paper(
            "paper",
            OURS,
            {
                "Adult, K = S = 2": (0.0409, 0.0249, 0.0139, 0.0092, 0.0072),
                "Adult, K = S = 3": (0.0567, 0.0333, 0.0222, 0.0165, 0.0121),
                "Adult, K = S = 4": (0.0645, 0.0435, 0.0289, 0.0247, 0.0171),
                "Big5, K = S = 2": (0.0776, 0.0572, 0.0432, 0.0378, 0.0306),
                "Big5, K = S = 3": (0.0810, 0.0573, 0.0491, 0.0384, 0.0375),
                "Big5, K = S = 4": (0.0828, 0.0606, 0.0504, 0.0459, 0.0423),
            },
        ),
    ),
)

TABLE_2 = Experiment(
    "randdpgen-table2",
    "KL divergence over two vertical parties, compared with PDBN and DPLT",
    "RandDPGen, Table 2",
    EPSILON_AXIS,
    (
        Panel("Adult, S = 2", replace(ADULT, grid="1x2")),
        Panel("Big5, S = 2", replace(BIG5, grid="1x2")),
    ),
    OVER_COLUMNS,
    (KL,),
    Quick(QUICK_EPSILONS, ("Adult, S = 2",)),
    (*_HYBRID_DIFFERS, *BASELINES_ARE_OURS),
    (
        numbers_of_paper(
            "paper",
            OURS,
            {
                "Adult, S = 2": (0.0285, 0.0155, 0.0137, 0.0042, 0.0035),
                "Big5, S = 2": (0.0590, 0.0465, 0.0389, 0.0314, 0.0309),
            },
        ),
        numbers_of_paper(
            "paper's PDBN",
            (PDBN, PDBN_BY_INDICATOR),
            {
                "Adult, S = 2": (0.4493, 0.4198, 0.4016, 0.3881, 0.3865),
                "Big5, S = 2": (0.6339, 0.5963, 0.5544, 0.4990, 0.3813),
            },
        ),
        numbers_of_paper(
            "paper's DPLT",
            (DPLT,),
            {
                "Adult, S = 2": (0.0689, 0.0477, 0.0392, 0.0289, 0.0109),
                "Big5, S = 2": (0.1199, 0.0744, 0.0485, 0.0367, 0.0247),
            },
        ),
    ),
)

TABLE_3 = Experiment(
    "randdpgen-table3",
    "KL divergence over three horizontal parties, compared with Ind-PrivBayes and DP-SUBN",
    "RandDPGen, Table 3",
    EPSILON_AXIS,
    (
        Panel("Adult, K = 3", replace(ADULT, grid="3x1")),
        Panel("Big5, K = 3", replace(BIG5, grid="3x1")),
    ),
    OVER_ROWS,
    (KL,),
    Quick(QUICK_EPSILONS, ("Adult, K = 3",)),
    (*_HYBRID_DIFFERS, *WHOLE_ROWS, *BASELINES_ARE_OURS),
    (
        numbers_of_paper(
            "paper",
            OURS,
            {
                "Adult, K = 3": (0.0470, 0.0387, 0.0178, 0.0087, 0.0050),
                "Big5, K = 3": (0.0535, 0.0458, 0.0406, 0.0343, 0.0316),
            },
        ),
        numbers_of_paper(
            "paper's Ind-PrivBayes",
            (IND_PRIVBAYES,),
            {
                "Adult, K = 3": (0.4531, 0.4181, 0.4106, 0.3962, 0.3628),
                "Big5, K = 3": (0.7393, 0.6207, 0.5942, 0.5557, 0.4717),
            },
        ),
        numbers_of_paper(
            "paper's DP-SUBN",
            (DP_SUBN,),
            {
                "Adult, K = 3": (0.0672, 0.0577, 0.0362, 0.0255, 0.0243),
                "Big5, K = 3": (0.0831, 0.0497, 0.0482, 0.0412, 0.0357),
            },
        ),
    ),
)

EXPERIMENTS = (TABLE_1, TABLE_2, TABLE_3)

"""All baselines by name."""

from __future__ import annotations

from collections.abc import Mapping

from .baseline import Baseline
from .distdiffgen import DISTDIFFGEN
from .dp_subn import DP_SUBN
from .dplt import DPLT
from .ind_privbayes import IND_PRIVBAYES
from .pdbn import PDBN

BASELINES: Mapping[str, Baseline] = {
    "ind-privbayes": IND_PRIVBAYES,
    "pdbn": PDBN,
    "dp-subn": DP_SUBN,
    "dplt": DPLT,
    "distdiffgen": DISTDIFFGEN,
}

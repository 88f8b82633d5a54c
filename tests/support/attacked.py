"""Releases that leak in known ways, and honest ones, for their owner to attack."""

import tempfile
import warnings
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dpmosaic
from dpmosaic.common import queries
from dpmosaic.common.crypto.digests import sha256_of
from dpmosaic.common.privacy import distributed, noise
from dpmosaic.curator.certificates.certificate import Certificate
from dpmosaic.curator.certificates.verify import CERTIFICATE
from dpmosaic.curator.measurers import scores
from dpmosaic.curator.results.outputs import write_certificate
from support.leaks import every_label_passes_the_threshold, half_of_all_noise

ROWS, HELD_OUT = 4000, 2000
COPIED = 80

DOMAIN = {
    "age": {"type": "numeric", "min": 18, "max": 97, "bins": 16},
    "income": {"type": "numeric", "min": 0, "max": 4000, "bins": 25},
    "sex": ["f", "m"],
    "ward": ["a", "b", "c", "d", "e"],
    "ill": ["no", "yes"],
}


def people(seed):
    """Real rows and others of the same kind, between which chance decides."""
    rng = np.random.default_rng(seed)
    count = ROWS + HELD_OUT
    age = rng.integers(18, 97, count)
    sex = rng.choice(["f", "m"], count)
    ward = np.array(list("abcde"))[np.clip(age // 20 + rng.integers(-1, 2, count), 0, 4)]
    income = np.round(rng.gamma(4, 40, count) * (1 + (sex == "m")) + age, 3)
    ill = np.where(rng.random(count) < age / 150, "yes", "no")
    rows = pd.DataFrame({"age": age, "income": income, "sex": sex, "ward": ward, "ill": ill})
    return rows[:ROWS], rows[ROWS:].reset_index(drop=True)


def released(rows, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return dpmosaic.synthesize(rows, **{"epsilon": 1.0, "domain": DOMAIN, **options})


def honest(rows):
    return released(rows)


def honest_and_learned(rows):
    return released(rows, domain=None, anyway=True)


def no_noise(rows):
    with pytest.MonkeyPatch.context() as patch:
        for module in (noise, distributed):
            patch.setattr(
                module, "discrete_gaussian", lambda sigma, size, stream: np.zeros(size, dtype=np.int64)
            )
        return released(rows)


def half_the_noise(rows):
    with pytest.MonkeyPatch.context() as patch:
        half_of_all_noise(patch)
        return released(rows)


def copied_rows(rows):
    """One released row in fifty is a real one; the certificate names the file with them."""
    with tempfile.TemporaryDirectory() as folder:
        released(rows).save(folder)
        path = Path(folder) / "synthetic.csv"
        made = pd.read_csv(path)
        pd.concat([rows[list(made)][:COPIED], made[COPIED:]]).to_csv(path, index=False)
        certificate = Certificate.load(Path(folder) / CERTIFICATE)
        outputs = dict(certificate.outputs) | {path.name: sha256_of(path)}
        write_certificate(Path(folder), certificate.with_outputs(outputs))
        found = dpmosaic.load(folder)
        # Read before the folder is removed.
        assert len(found.table) == len(made)
        return found


def quantiles_as_bins(rows):
    edges = [float(edge) for edge in np.quantile(rows["income"], np.linspace(0, 1, 11))]
    return released(rows, domain=DOMAIN | {"income": {"type": "numeric", "edges": edges}})


def ends_of_the_rows(rows):
    ends = {"min": float(rows["income"].min()), "max": float(rows["income"].max())}
    return released(rows, domain=DOMAIN | {"income": {"type": "numeric", "bins": 25, **ends}})


def a_score_that_is_not_charged(rows):
    with pytest.MonkeyPatch.context() as patch:
        for module in (scores, queries):
            patch.setattr(module, "score_cost", lambda *_: Fraction(0))
        return released(rows)


def a_label_of_one_row(rows):
    with pytest.MonkeyPatch.context() as patch:
        every_label_passes_the_threshold(patch)
        return released(rows[["sex", "ward", "ill"]], domain=None, anyway=True)


HONEST = (honest, honest_and_learned)

LEAKS = {
    no_noise: "Noise as stated",
    half_the_noise: "Noise as stated",
    copied_rows: "Copied rows",
    quantiles_as_bins: "Values from the rows",
    ends_of_the_rows: "Values from the rows",
    a_score_that_is_not_charged: "Costs as charged",
    a_label_of_one_row: "Values from the rows",
}
"""Each leak and the attack that finds it."""


def attacked(leak, seed, held_out=True):
    """The attack on a release with this leak."""
    rows, others = people(seed)
    if leak is a_label_of_one_row:
        rows = rows.assign(ward=rows["ward"].where(rows.index > 0, "isolation"))
    return leak(rows).attack(rows, others if held_out else None, seed=seed)

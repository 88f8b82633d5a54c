"""`dpmosaic synthesize` on files of every shape: a release, or one sentence before anything is charged."""

import contextlib
import csv
import warnings

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import dpmosaic
from dpmosaic.command import app
from dpmosaic.common.errors import MosaicError
from dpmosaic.curator.certificates import checking
from dpmosaic.simulations.stopping import UNFINISHED
from dpmosaic.synthesis.learning.private_counts import PrivateCounts

FILES = 24
KINDS = {
    "nothing": lambda rng, n: [""] * n,
    "one number": lambda rng, n: ["2013"] * n,
    "one text": lambda rng, n: ["x"] * n,
    "few numbers": lambda rng, n: rng.integers(0, 3, n).tolist(),
    "decimals": lambda rng, n: [f"{x:.2f}" for x in rng.normal(0, 10 ** rng.uniform(-5, 8), n)],
    "keys": lambda rng, n: [f"id{place}" for place in range(n)],
    "booleans": lambda rng, n: rng.choice(["true", "false"], n).tolist(),
    "dates": lambda rng, n: (np.datetime64("2000-01-01") + rng.integers(0, 9000, n)).astype(str).tolist(),
    "odd texts": lambda rng, n: rng.choice(["", "NA", "a", "Ü", 'say "x"', "=cmd", "a\nb"], n).tolist(),
    "too large": lambda rng, n: rng.choice(["1e400", "5"], n).tolist(),
    "times": lambda rng, n: [f"{x // 60:02d}:{x % 60:02d}" for x in rng.integers(0, 1440, n)],
    "sentences": lambda rng, n: [f"free text of number {x} and more" for x in rng.integers(0, 10**9, n)],
    "mostly missing": lambda rng, n: rng.choice(["", "", "", "7"], n).tolist(),
    "large numbers": lambda rng, n: rng.integers(-(10**12), 10**12, n).tolist(),
}
NAMES = ("a", "A", " a", "", "a,b", 'q"u', "2013", "select", "c0", "é")
OPTIONS = (
    ("--target", "c0"),
    ("--workload", "1way"),
    ("--workload", "3way"),
    ("--rows", "1"),
    ("--no-header",),
    ("--format", "parquet"),
    ("--copies", "2"),
)


@pytest.fixture(autouse=True)
def charges(monkeypatch):
    """The steps that were charged; the second opinion is computed in a thread."""
    steps, before = [], PrivateCounts._charge

    def charged(self, step, *more, **named):
        steps.append(step)
        return before(self, step, *more, **named)

    monkeypatch.setattr(PrivateCounts, "_charge", charged)
    monkeypatch.setattr(checking, "process_for_checks", contextlib.nullcontext)
    return steps


def written(path, rng, columns, rows, kinds=tuple(KINDS)):
    names = [f"c{place}" for place in range(columns)]
    if rng.random() < 0.4:
        names[-1] = str(rng.choice(NAMES))
    if rng.random() < 0.1:
        names[-1] = names[0]
    cells = [KINDS[kind](rng, rows) for kind in rng.choice(kinds, columns)]
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([names, *zip(*cells, strict=True)])


def run(*arguments):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return CliRunner().invoke(app, [*map(str, arguments)])


def ends_well(folder, done, charges):
    """Whether a command ended in a release, or in one sentence before anything but the rows was counted."""
    out = folder / "out"
    if done.exception is None:
        assert not (out / UNFINISHED).exists()
        assert len(dpmosaic.load(out).table) > 0
        return
    assert isinstance(done.exception, MosaicError), done.exception
    assert "\n" not in str(done.exception)
    assert charges in ([], ["number of rows"]), str(done.exception)
    assert (out / UNFINISHED).exists() == bool(charges)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(FILES))
def test_a_file_of_any_shape_ends_in_a_release_or_in_one_sentence_before_a_charge(tmp_path, charges, seed):
    rng = np.random.default_rng(seed)
    rows, columns = int(rng.choice([0, 1, 2, 10, 60, 900])), int(rng.choice([1, 2, 3, 7]))
    data, domain = tmp_path / "t.csv", tmp_path / "domain.json"
    written(data, rng, columns, rows)
    more = [*OPTIONS[rng.integers(len(OPTIONS))]] if rng.random() < 0.4 else []
    more += [("--anyway",), ("--domain", domain), ()][seed % 3]
    if domain in more and (refused := run("domain", "infer", data, "--out", domain).exception) is not None:
        assert isinstance(refused, MosaicError)
        return
    epsilon, mechanism = rng.choice([0.01, 1, 100]), rng.choice(["independent", "mst", "privbayes"])
    done = run(
        *(
            "synthesize",
            data,
            "--out",
            tmp_path / "out",
            "--epsilon",
            epsilon,
            "--mechanism",
            mechanism,
            *more,
        )
    )
    ends_well(tmp_path, done, charges)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_codes_of_many_values_end_in_a_release_also_where_votes_exceed_the_number_of_rows(seed):
    rng = np.random.default_rng(seed)
    codes = [
        f"I{x:02d}.{y}" for x, y in zip(rng.integers(0, 60, 3000), rng.integers(0, 9, 3000), strict=True)
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        options = {"mechanism": "independent", "seed": seed, "rows": 9, "progress": False}
        release = dpmosaic.synthesize(pd.DataFrame({"code": codes}), epsilon=100, **options)
    assert release.domain["code"].prefixes is True


@pytest.mark.slow
@pytest.mark.parametrize(
    ("columns", "rows", "kind"), [(150, 3, "one number"), (150, 3, "nothing"), (1, 100_000, "keys")]
)
def test_a_wide_file_and_one_of_many_texts_end_in_a_release(tmp_path, charges, columns, rows, kind):
    written(tmp_path / "t.csv", np.random.default_rng(0), columns, rows, (kind,))
    more = ("--anyway", "--mechanism", "independent", "--rows", "5")
    done = run("synthesize", tmp_path / "t.csv", "--out", tmp_path / "out", *more)
    assert done.exception is None
    ends_well(tmp_path, done, charges)

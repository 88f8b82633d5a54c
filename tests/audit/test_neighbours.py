"""One row more or less changes nothing that leaves, if noisy counts are the same; see `replayed_noise`."""

import importlib
import warnings
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

import dpmosaic
from dpmosaic.command import app
from dpmosaic.common.errors import DataError
from dpmosaic.common.privacy import noise
from dpmosaic.curator.certificates.certificate import Certificate
from dpmosaic.party.sources.source import FileSource
from dpmosaic.simulations.learning import choice, first_step, learning
from dpmosaic.simulations.learning.asking import Asking
from dpmosaic.simulations.learning.cells import Cells
from dpmosaic.simulations.learning.forms import FORMS, PLACES, Form
from dpmosaic.simulations.learning.kinds import Texts
from dpmosaic.simulations.learning.private_counts import PrivateCounts
from support.odd_rows import DOMAIN, ODD, ROWS, as_typed, plain_rows, with_row
from support.replayed_noise import alarms

pytestmark = pytest.mark.slow

synthesizing = importlib.import_module("dpmosaic.simulations.synthesize")

EPSILON = 30.0
"""So large that the columns of few rows are learned; the same noise is repeated, so its size is no matter."""


def in_python(**options):
    """What a caller of `synthesize` sees."""

    def release(table):
        seen, certificates = {}, []
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                made = dpmosaic.synthesize(
                    table, **{"mechanism": "independent", "epsilon": EPSILON} | options
                )
            except Exception as refusal:
                seen["refusal"] = repr(refusal)
            else:
                certificates = certificates_of(made)
                seen |= seen_of(made)
        return seen | {"warnings": [str(one.message) for one in caught]}, certificates

    return release


def certificates_of(made):
    return [one for one in (made.certificate, made.published.drawn.bins) if one is not None]


def seen_of(made):
    """What a release shows."""
    frames = {"table": made.table, "sample": made.sample(20, seed=1)}
    shown = {name: (frame.to_csv(), [*map(repr, frame.dtypes)]) for name, frame in frames.items()}
    return shown | {
        "repr": repr(made),
        "html": made._repr_html_(),
        "report": made.report().html,
        "domain": made.domain.to_json(),
        "certificate": made.certificate.to_json(),
        "count": repr(made.query("SELECT COUNT(*) FROM release")),
    }


@pytest.fixture
def by_command(tmp_path):
    """What the command shows, and all that it writes; the table is a CSV."""

    def release_with(*options):
        def release(octets):
            number = len(list(tmp_path.iterdir()))
            (tmp_path / f"{number}").mkdir()
            path, out = tmp_path / f"{number}" / "rows.csv", tmp_path / f"{number}" / "out"
            path.write_bytes(octets)
            given = ["synthesize", str(path), "--out", str(out), "--mechanism", "independent", *options]
            done = CliRunner().invoke(app, given)
            files = {file.relative_to(out).as_posix(): file.read_bytes() for file in out.rglob("*.*")}
            seen = {name: text.replace(str(out.parent), "") for name, text in texts_of(done).items()}
            certificates = [
                Certificate.load(out / name) for name in files if name.endswith("certificate.json")
            ]
            return seen | files, certificates

        return release

    return release_with


def texts_of(done):
    return {"stdout": done.stdout, "stderr": done.stderr, "status": f"{done.exit_code} {done.exception!r}"}


def csv_of(rows):
    return rows.to_csv(index=False).encode()


@pytest.mark.parametrize("odd", ODD)
def test_a_row_shows_only_in_noisy_counts_of_a_frame_without_a_domain(odd):
    rows = plain_rows()
    both = as_typed(rows), as_typed(with_row(rows, ODD[odd]))
    assert alarms(in_python(anyway=True), *both) == set()


@pytest.mark.parametrize("odd", ODD)
def test_a_row_shows_only_in_noisy_counts_of_a_csv_without_a_domain(odd, by_command):
    rows = plain_rows()
    both = csv_of(rows), csv_of(with_row(rows, ODD[odd]))
    assert alarms(by_command("--anyway", "--epsilon", str(EPSILON)), *both) == set()


@pytest.mark.parametrize("odd", ODD)
def test_a_row_shows_only_in_noisy_counts_under_a_domain(odd):
    rows = plain_rows()
    both = as_typed(rows), as_typed(with_row(rows, ODD[odd]))
    assert alarms(in_python(domain=DOMAIN), *both) == set()


def raw_counts_decide_a_kind(monkeypatch):
    counted = learning.counted
    exact = {}
    histograms = PrivateCounts.histograms

    def peeking(self, step, asked, rho):
        exact.update({name: count() for name, count in asked.items()} if step == "forms" else {})
        return histograms(self, step, asked, rho)

    def by_all_cells(vote, records):
        found = counted(vote, records)
        cells = exact.pop(next(iter(exact)))
        return replace(found, kind=Texts(())) if cells[PLACES[Form("word", "unknown")]] else found

    monkeypatch.setattr(PrivateCounts, "histograms", peeking)
    monkeypatch.setattr(learning, "counted", by_all_cells)


def the_real_maximum_ends_a_range(monkeypatch):
    found = Asking.ranges

    def exactly(self, step, values, *arguments):
        ranges = found(self, step, values, *arguments)
        return {
            name: replace(one, high=max(one.high, np.nanmax(values[name]()))) for name, one in ranges.items()
        }

    monkeypatch.setattr(Asking, "ranges", exactly)


def exact_number_of_rows(monkeypatch):
    monkeypatch.setattr(first_step, "_counted", lambda counts, rho, rows, adjacency: choice.Rows(rows))


def a_refusal_on_the_exact_number_of_rows(monkeypatch):
    begun = synthesizing.begun_without

    def refusing(cells, *arguments):
        if cells.records() > ROWS:
            raise DataError("too many rows")
        return begun(cells, *arguments)

    monkeypatch.setattr(synthesizing, "begun_without", refusing)


def half_the_noise_in_one_histogram(monkeypatch):
    noised = PrivateCounts._noised
    monkeypatch.setattr(
        PrivateCounts,
        "_noised",
        lambda self, counts, sigma: noised(self, counts, sigma / (2 if len(counts) == len(FORMS) else 1)),
    )


def half_of_all_noise(monkeypatch):
    full = noise.discrete_gaussian
    monkeypatch.setattr(noise, "discrete_gaussian", lambda sigma, *others: full(sigma / 2, *others))


def one_charge_for_all_columns(monkeypatch):
    charged = PrivateCounts._charged
    monkeypatch.setattr(
        PrivateCounts,
        "_charged",
        lambda self, step, cliques, rho, **options: charged(self, step, cliques[:1], rho, **options),
    )


def a_row_that_counts_twice(monkeypatch):
    forms = Cells.forms
    monkeypatch.setattr(Cells, "forms", lambda self, name: 2 * forms(self, name))


def types_of_the_real_frame(monkeypatch):
    begun = synthesizing.begun_without
    made = synthesizing.Release.of
    held = {}

    def peeking(cells, *arguments):
        held["rows"] = cells.source.rows
        return begun(cells, *arguments)

    def leaking(drawn, *types):
        if held["rows"]["age"].eq("unknown").any():
            warnings.warn("a column of another type", stacklevel=2)
        return made(drawn, *types)

    monkeypatch.setattr(synthesizing, "begun_without", peeking)
    monkeypatch.setattr(synthesizing.Release, "of", leaking)


def the_file_decides_its_encoding(monkeypatch):
    columns = FileSource.read

    def read(self, domain):
        odd = b"\xff" in self.path.read_bytes()
        return columns(self, domain) if not odd else columns(self, domain).project(domain.names[:1])

    monkeypatch.setattr(FileSource, "read", read)


ODD_BYTE = b"33,12.50,true,2020-02-03,\xff,0037,301,\n"
"""A row that is no UTF-8."""

FAULTS = [
    (raw_counts_decide_a_kind, "seen: table"),
    (the_real_maximum_ends_a_range, "seen: domain"),
    (types_of_the_real_frame, "seen: warnings"),
    (exact_number_of_rows, "seen: certificate"),
    (a_refusal_on_the_exact_number_of_rows, "seen: refusal"),
    (half_the_noise_in_one_histogram, "cost"),
    (half_of_all_noise, "noise"),
    (one_charge_for_all_columns, "cost"),
    (a_row_that_counts_twice, "counts"),
]


@pytest.mark.parametrize(("fault", "alarm"), FAULTS)
def test_a_planted_fault_is_found(fault, alarm, monkeypatch):
    fault(monkeypatch)
    rows = plain_rows()
    odd = {"age": "unknown", "price": "70000"}
    assert alarm in alarms(in_python(anyway=True), rows, with_row(rows, odd))


def test_a_file_that_decides_how_it_is_read_is_found(by_command, monkeypatch):
    the_file_decides_its_encoding(monkeypatch)
    rows = csv_of(plain_rows())
    assert "asked" in alarms(by_command("--anyway", "--epsilon", "30"), rows, rows + ODD_BYTE)


def test_an_odd_byte_shows_only_in_noisy_counts(by_command):
    rows = csv_of(plain_rows())
    assert alarms(by_command("--anyway", "--epsilon", "30"), rows, rows + ODD_BYTE) == set()


def test_a_refusal_of_too_few_rows_follows_from_the_noisy_number_alone():
    rows = plain_rows()
    assert alarms(in_python(epsilon=0.5), rows, with_row(rows, {"age": "unknown"})) == {"refused"}


def test_the_default_mechanism_sees_only_noisy_counts():
    rows = plain_rows()[["age", "flag", "city"]]
    odd = with_row(rows, {"age": "unknown"})[list(rows)]
    assert alarms(in_python(anyway=True, mechanism="mosaic"), rows, odd) == set()

"""One row more or less changes nothing that leaves if the noisy counts are the same; see `replayed_noise`."""

import warnings

import pytest
from typer.testing import CliRunner

import dpmosaic
from dpmosaic.command import app
from dpmosaic.curator.certificates.certificate import Certificate
from support.odd_rows import DOMAIN, ODD, as_typed, plain_rows, with_row
from support.replayed_noise import alarms

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

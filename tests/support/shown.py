"""All that somebody sees of a release: what a call gives, or what a command prints and writes."""

import contextlib
import csv
import io
import json
import re
import shutil
import warnings
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from unittest import mock

import numpy as np
from typer.testing import CliRunner

import dpmosaic
from dpmosaic.command import app
from dpmosaic.common.errors import MosaicError
from dpmosaic.curator.certificates import checking
from dpmosaic.curator.certificates.certificate import Certificate
from dpmosaic.simulations.stopping import UNFINISHED
from support.odd_rows import NO_UTF8


def in_python(**options):
    """A release by a call of `synthesize`: from a table, what a caller sees by name, and its certificates.

    The ledger of the table, which the owner alone reads, says that there was a release before.
    """

    def release(table):
        seen, certificates = {}, []
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                made = dpmosaic.synthesize(table, ledger=False, **options)
            except Exception as refusal:
                seen["refusal"] = repr(refusal)
            else:
                certificates = [
                    one for one in (made.certificate, made.published.drawn.bins) if one is not None
                ]
                seen |= _seen_of(made)
        return seen | {"warnings": "\n".join(str(one.message) for one in caught)}, certificates

    return release


def _seen_of(made):
    frames = {"table": made.table, "sample": made.generate(20, seed=1)}
    seen = {f"{name}.csv": frame.to_csv(index=False) for name, frame in frames.items()}
    seen |= {f"types of {name}": "\n".join(map(repr, frame.dtypes)) for name, frame in frames.items()}
    return seen | {
        "repr": repr(made),
        "html": made._repr_html_(),
        "report": made.report().html,
        "domain": json.dumps(made.domain.to_json(), indent=1),
        "certificate": json.dumps(made.certificate.to_json(), indent=1),
        "count": repr(made.query("SELECT COUNT(*) FROM release")),
    }


def people_in_python(**options):
    """The same of a table with a key, or of related tables."""

    def release(tables):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                made = dpmosaic.synthesize(tables, ledger=False, **options)
            except MosaicError as refusal:
                return {"refusal": repr(refusal)}, []
        frames = {f"table {name}": rows for name, rows in made.tables.items()}
        if made.certificate.lifetime is None:
            frames |= {f"further {name}": rows for name, rows in made.generate(20, seed=1).items()}
        seen = {name: rows.to_csv(index=False) for name, rows in frames.items()}
        seen |= {f"types of {name}": "\n".join(map(repr, rows.dtypes)) for name, rows in frames.items()}
        seen |= {
            "repr": repr(made),
            "report": made.report().html,
            "described": json.dumps([one.to_json() for one in made.family.tables]),
            "certificate": json.dumps(made.certificate.to_json()),
            "warnings": "\n".join(str(one.message) for one in caught),
        }
        return seen, [one.certificate for one in made.releases.values()]

    return release


def by_command(folder, *options):
    """The same by `dpmosaic synthesize` from the octets of a CSV: what is printed, and all files by name.

    Args:
        folder: for the CSV and the release, the same each time.
        options: of the command.
    """

    def release(octets):
        path, out = folder / "rows.csv", folder / "out"
        path.write_bytes(octets)
        shutil.rmtree(out, ignore_errors=True)
        done = CliRunner().invoke(app, ["synthesize", str(path), "--out", str(out), "--no-ledger", *options])
        # What goes on from a refusal is in a folder that is not for release.
        public = (one for one in out.rglob("*") if one.is_file() and UNFINISHED not in one.parts)
        files = {one.relative_to(out).as_posix(): one.read_bytes() for one in public}
        certificates = [Certificate.load(out / name) for name in files if name.endswith("certificate.json")]
        status = f"{done.exit_code} {done.exception!r}"
        return {"stdout": done.stdout, "stderr": done.stderr, "status": status} | files, certificates

    return release


def csv_of(rows):
    """The rows as a file."""
    return rows.to_csv(index=False).encode().replace(NO_UTF8.encode(), b"\xff")


@contextlib.contextmanager
def no_second_opinions():
    """Leaves out the second opinion on epsilon, which takes seconds and follows from the charges."""
    with (
        mock.patch.object(checking, "checked_epsilons", lambda *given: dict.fromkeys(given[3])),
        mock.patch.object(checking, "process_for_checks", partial(ThreadPoolExecutor, 1)),
    ):
        yield


def numbers_of(seen):
    """What is seen as numbers by name, for `lower_bound`: how often what occurs, and all numbers by place."""
    found = {}
    for name, content in seen.items():
        if name.endswith(".npz"):
            told = _of_arrays(content)
        else:
            text = content if isinstance(content, str) else content.decode()
            told = {"size": len(text), **(_of_table(text) if name.endswith(".csv") else _of_text(text))}
        found |= {f"{name}: {what}": float(number) for what, number in told.items()}
    return found


_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?")
_MOST = 500
"""Numbers of an array that are looked at, and values of a column that are told apart."""


def _of_text(text):
    """Its lines without numbers, the numbers of each of them in order, and its words."""
    found, lines = {}, Counter()
    for line in text.replace(",", "").splitlines():
        bare = _NUMBER.sub("#", line)
        lines[bare] += 1
        for i, number in enumerate(_NUMBER.findall(line)):
            found[f"{bare} {lines[bare]} {i}"] = float(number)
    return found | lines | Counter(f"word {word}" for word in re.findall(r"[^\W\d]+", text))


def _of_table(text):
    """Its columns, and of each the values, their forms, and where its numbers lie."""
    header, *rows = csv.reader(io.StringIO(text))
    found = {f"columns {header}": 1, "rows": len(rows)}
    for name, cells in zip(header, zip(*rows, strict=True), strict=False):
        values, forms = Counter(cells), Counter(f"like {_NUMBER.sub('#', cell)}" for cell in cells)
        told = {"values": len(values), **forms, **(values if len(values) <= _MOST else {})}
        numbers = [float(cell) for cell in cells if _NUMBER.fullmatch(cell)]
        if numbers:
            told |= {"least": min(numbers), "largest": max(numbers), "mean": np.mean(numbers)}
        found |= {f"{name} {what}": number for what, number in told.items()}
    return found


def _of_arrays(octets):
    found = {}
    with np.load(io.BytesIO(octets)) as arrays:
        for name, array in arrays.items():
            found[f"{name} {array.dtype} {array.shape}"] = 1
            if array.dtype.kind in "iufb":
                found |= {f"{name} {i}": number for i, number in enumerate(array.ravel()[:_MOST])}
            else:
                found |= {f"{name} {one}": 1 for one in array.ravel()}
    return found

"""Folders of releases that a stranger changed: each use of them ends in an answer or one sentence.

No signature protects a release from one table: whoever changes a file can name its new digest in the
certificate. `changed_folder` makes any number of such folders.
"""

import contextlib
import json
import random
import shutil

import numpy as np
import pandas as pd
import pytest

import dpmosaic
from dpmosaic.common.crypto.digests import sha256_of
from dpmosaic.common.errors import MosaicError
from dpmosaic.curator.pgm import archive
from dpmosaic.curator.results.table_format import TableFormat
from support.mutations import changed_arrays, changed_bytes, changed_value

pytestmark = [
    pytest.mark.slow,
    # What numpy says of numbers of strangers is no error.
    pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::UserWarning"),
]

CHANGES = 3
"""Of each file of a folder; any other number is as good."""

DOMAIN = {
    "sex": ["f", "m"],
    "stars": [1, 2, 3],
    "age": {"type": "numeric", "min": 0, "max": 99, "bins": 5, "integer": True, "nullable": True},
    "since": {"type": "date", "min": "2020-01-01", "max": "2020-12-31", "bins": 4},
    "smoker": {"type": "boolean"},
}
USES = (
    lambda one: one.table,
    lambda one: one.rows,
    lambda one: one.generate(5, where={"sex": "f"}, seed=1),
    lambda one: one.query("SELECT sex, COUNT(*) AS n FROM release GROUP BY sex"),
    lambda one: one.query("SELECT AVG(age) FROM release WHERE smoker"),
    lambda one: one.linear("age ~ sex + smoker"),
    lambda one: one.copies(2),
    lambda one: one.report(),
    lambda one: (repr(one), one._repr_html_()),
)


@pytest.fixture(scope="module", params=[TableFormat.CSV, TableFormat.PARQUET])
def published(request, tmp_path_factory):
    """The folder of a release, with columns that are stored in ways of their own."""
    rng, rows = np.random.default_rng(1), 300
    days = pd.to_timedelta(rng.integers(0, 300, rows), "D")
    table = pd.DataFrame(
        {
            "sex": pd.Categorical(rng.choice(["f", "m"], rows)),
            "stars": rng.integers(1, 4, rows),
            "age": rng.integers(0, 100, rows),
            "since": pd.Timestamp("2020-01-01") + days,
            "smoker": pd.array(rng.choice([True, False], rows), dtype="boolean"),
        }
    )
    folder = tmp_path_factory.mktemp("published") / "release"
    made = dpmosaic.synthesize(table, epsilon=2.0, domain=DOMAIN, mechanism="independent", ledger=False)
    made.save(folder, request.param)
    return folder


def changed_folder(folder, copy, name, rng):
    """Copies a folder of which the file of this name is changed; the certificate names what is in it now."""
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(folder, copy)
    certificate = json.loads((copy / "certificate.json").read_text())
    path = copy / name
    if name == "certificate.json":
        certificate = changed_value(certificate, rng)
    elif path.suffix == ".npz":
        with np.load(path) as file:
            form, arrays = json.loads(file["form"].tobytes()), {one: file[one] for one in file.files}
        del arrays["form"]
        if rng.random() < 0.5:
            form = changed_value(form, rng)
        else:
            arrays = changed_arrays(arrays, rng)
        archive.write(path, form, arrays)
    elif path.suffix == ".json":
        path.write_text(json.dumps(changed_value(json.loads(path.read_text()), rng)))
    else:
        path.write_bytes(changed_bytes(path.read_bytes(), rng))
    if name != "certificate.json":
        certificate["outputs"][name] = sha256_of(path)
    (copy / "certificate.json").write_text(json.dumps(certificate))


def test_every_use_of_a_changed_folder_ends_in_an_answer_or_one_sentence(published, tmp_path):
    rng, loaded = random.Random(3), 0
    names = ["certificate.json", *json.loads((published / "certificate.json").read_text())["outputs"]]
    assert {"model.npz", "evidence.npz", "storage.json"} < set(names)
    for name in CHANGES * names:
        changed_folder(published, tmp_path / "copy", name, rng)
        try:
            release = dpmosaic.load(tmp_path / "copy")
        except MosaicError:
            continue
        loaded += 1
        for use in USES:
            with contextlib.suppress(MosaicError):
                use(release)
    assert 2 < loaded < CHANGES * len(names)


def test_a_value_that_is_no_category_is_refused_where_categories_are_numbers(published):
    release = dpmosaic.load(published)
    with pytest.raises(MosaicError, match="expected one of '1', '2', '3', got another value"):
        release.generate(5, where={"stars": 7})

"""The files of a release: the synthetic table in each format, and refusals to overwrite."""

import hashlib

import numpy as np
import pandas as pd
import pytest

from dpmosaic.common.data.attributes.categorical import CategoricalAttribute, CodedAttribute
from dpmosaic.common.data.attributes.numeric import NumericAttribute
from dpmosaic.common.data.domain import Domain
from dpmosaic.common.data.table import Table
from dpmosaic.common.errors import DataError
from dpmosaic.curator.certificates.certificate import Certificate
from dpmosaic.curator.mechanisms.parts.fitted import FittedModel
from dpmosaic.curator.mechanisms.parts.records import SelectedRecords
from dpmosaic.curator.results import outputs, row_values
from dpmosaic.curator.results.columns.typed import typed_values
from dpmosaic.curator.results.row_values import decode_rows, spelled_column
from dpmosaic.curator.results.table_format import TableFile, TableFormat
from dpmosaic.party.sources.source import read_table
from support.certificates import certificate_form

DOMAIN = Domain(
    (
        CategoricalAttribute("text", ("", "a,b", "c")),
        CategoricalAttribute("numbers", (1, 2, "")),
        CategoricalAttribute("flags", (True, False, "")),
        CategoricalAttribute("mixed", (1, True, "x", 2.5)),
        CategoricalAttribute("ratio", (0.5, 1.5)),
        NumericAttribute("whole", 0, 9, 5, nullable=True, integer=True),
        NumericAttribute("real", 0.0, 1.0, 4, nullable=True),
        CodedAttribute("code", 3),
    )
)


def written(folder, kind):
    rng = np.random.default_rng(0)
    table = Table.from_codes(DOMAIN, np.column_stack([rng.integers(0, n, 200) for n in DOMAIN.sizes]))
    certificate = Certificate.from_json(certificate_form(DOMAIN))
    fitted = FittedModel(SelectedRecords(table, (), 200.0), (), (), ())
    outputs.check_folder(folder)
    rng, table_file = np.random.default_rng(1), TableFile(kind)
    digests = outputs.write(folder, table, rng, DOMAIN.names, certificate, fitted, table_file)
    outputs.write_certificate(folder, certificate.with_outputs(digests))
    return table


@pytest.mark.slow
@pytest.mark.parametrize("kind", TableFormat)
def test_a_written_table_is_read_back_to_the_same_codes(tmp_path, kind):
    table = written(tmp_path, kind)
    assert read_table(tmp_path / kind.file, DOMAIN).digest() == table.digest()
    assert {path.name for path in tmp_path.iterdir()} == {
        kind.file, "certificate.json", "evidence.npz", "model.npz", "report.html",
    }  # fmt: skip


def test_the_certificate_names_the_digest_of_every_other_file(tmp_path):
    written(tmp_path, TableFormat.CSV)
    outputs_of = Certificate.load(tmp_path / "certificate.json").outputs
    assert outputs_of == {
        name: hashlib.sha256((tmp_path / name).read_bytes()).hexdigest()
        for name in ("synthetic.csv", "model.npz", "evidence.npz", "report.html")
    }


def test_parquet_keeps_types_and_writes_missing_numbers_as_null(tmp_path):
    written(tmp_path, TableFormat.PARQUET)
    rows = pd.read_parquet(tmp_path / "synthetic.parquet", dtype_backend="numpy_nullable")
    kinds = {name: str(dtype) for name, dtype in rows.dtypes.items()}
    assert kinds == {
        "text": "string",
        "numbers": "Int64",
        "flags": "boolean",
        "mixed": "string",
        "ratio": "Float64",
        "whole": "Int64",
        "real": "Float64",
        "code": "Int64",
    }
    assert rows["numbers"].isna().any()
    assert set(rows["mixed"]) == {"1", "true", "x", "2.5"}


@pytest.mark.parametrize("kind", TableFormat)
def test_refuses_a_folder_with_a_table_of_any_format(tmp_path, kind):
    (tmp_path / kind.file).touch()
    with pytest.raises(DataError, match=f"already holds {kind.file}"):
        outputs.check_folder(tmp_path)


def test_a_file_that_no_promise_covers_has_a_warning_beside_it_and_both_count_as_results(tmp_path):
    outputs.write_not_for_release(tmp_path / "errors.json", "{}", "made from real rows")
    warning = tmp_path / "errors.json.NOT-FOR-RELEASE.txt"
    assert warning.read_text() == "errors.json: made from real rows\n"
    (tmp_path / "errors.json").unlink()
    with pytest.raises(DataError, match=r"already holds errors\.json\.NOT-FOR-RELEASE\.txt"):
        outputs.check_folder(tmp_path, ["errors.json"])


@pytest.mark.parametrize("kind", TableFormat)
def test_a_table_that_cannot_be_written_is_named(tmp_path, kind):
    domain, path = Domain((NumericAttribute("n", 0, 9, 5),)), tmp_path / "missing" / f"table.{kind}"
    table = Table.from_codes(domain, {"n": np.array([1])})
    with pytest.raises(DataError, match=rf"missing/table\.{kind} cannot be written"):
        outputs.write_table(path, table, np.random.default_rng(0), domain.names, TableFile(kind))
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
@pytest.mark.parametrize("kind", [TableFormat.CSV, TableFormat.PARQUET])
def test_blocks_of_rows_are_written_like_one_data_frame(tmp_path, kind, monkeypatch):
    monkeypatch.setattr(row_values, "DECODED_ROWS", 3)
    table = written(tmp_path, kind)
    values = decode_rows(table, np.random.default_rng(1))
    whole = tmp_path / f"whole.{kind}"
    if kind is TableFormat.CSV:
        spelled = {name: spelled_column(DOMAIN, name, values[name]) for name in DOMAIN.names}
        pd.DataFrame(spelled).to_csv(whole, index=False)
        assert (tmp_path / kind.file).read_bytes() == whole.read_bytes()
    else:
        typed_values(DOMAIN, values, DOMAIN.names).to_parquet(whole, index=False)
        pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / kind.file), pd.read_parquet(whole))


def test_types_of_a_parquet_file_do_not_depend_on_the_values_of_its_first_rows(tmp_path, monkeypatch):
    monkeypatch.setattr(row_values, "DECODED_ROWS", 2)
    domain = Domain((CategoricalAttribute("text", ("", "a")), NumericAttribute("n", 0, 9, 5, nullable=True)))
    table = Table.from_codes(domain, np.array([[0, 5], [0, 5], [1, 0]]))
    rng, path = np.random.default_rng(0), tmp_path / "table.parquet"
    outputs.write_table(path, table, rng, domain.names, TableFile(TableFormat.PARQUET))
    rows = pd.read_parquet(path)
    assert rows["text"].isna().tolist() == rows["n"].isna().tolist() == [True, True, False]
    assert rows["text"].tolist()[2] == "a"


def test_numbers_inside_bins_follow_the_whole_table_and_not_their_block(monkeypatch):
    domain = Domain((NumericAttribute("n", 0.0, 8.0, 8),))
    table = Table.from_codes(domain, {"n": np.repeat(np.arange(8), [1, 2, 4, 8, 16, 32, 64, 128])})
    codes, counts = table.column("n"), np.bincount(table.column("n"))
    own = np.random.default_rng(5).spawn(255)
    expected = [domain["n"].decode(codes[row : row + 1], own[row], counts)[0] for row in range(255)]
    monkeypatch.setattr(row_values, "DECODED_ROWS", 1)
    assert decode_rows(table, np.random.default_rng(5))["n"].tolist() == expected

"""Names and labels are the same whether they are written composed, or decomposed as on some systems."""

import random
import re
import unicodedata
import warnings

import pandas as pd
import pyarrow as pa
import pytest

import dpmosaic
from dpmosaic.common.data.values import compose
from dpmosaic.common.errors import DataError
from dpmosaic.party.counting.encoding import decomposed_pattern
from dpmosaic.party.drafting.inference import draft_file
from dpmosaic.party.policies.form import read_policy
from dpmosaic.party.sources.query import QuerySource

NAME, LABEL = "caf\u00e9", "M\u00fcnchen"
DOMAIN = {NAME: [LABEL, "Bern"], "n": 3}


def apart(text):
    return unicodedata.normalize("NFD", text)


def rows(spelling):
    return pd.DataFrame(
        {
            spelling(NAME): [spelling(LABEL), LABEL, "Bern", apart(LABEL)] * 25,
            "n": [0, 1, 2, 1] * 25,
        }
    )


def codes(data):
    return [column.tolist() for column in dpmosaic.encode(data, DOMAIN).columns]


def stored(tmp_path, how):
    """The decomposed table, as its owner may have it."""
    table = rows(apart)
    match how:
        case "frame":
            return table
        case "categories":
            return table.astype({apart(NAME): "category"})
        case "arrow":
            return pa.Table.from_pandas(table)
        case "csv":
            table.to_csv(tmp_path / "t.csv", index=False)
            return tmp_path / "t.csv"
    table.to_parquet(tmp_path / "t.parquet")
    return tmp_path / "t.parquet"


@pytest.mark.slow
@pytest.mark.parametrize("how", ["frame", "categories", "arrow", "csv", "parquet"])
def test_a_decomposed_table_is_released_as_the_composed_one(how, tmp_path):
    made = [
        dpmosaic.synthesize(
            data,
            domain=form,
            mechanism="independent",
            epsilon=5.0,
            seed=1,
            adjacency="zero-out",
            ledger=False,
        )
        for data, form in (
            (rows(str), DOMAIN),
            (stored(tmp_path, how), {apart(NAME): [apart(LABEL), "Bern"], "n": 3}),
        )
    ]
    one, two = (release.rows.digest() for release in made)
    assert one == two
    assert made[1].domain.to_json() == DOMAIN


def test_a_query_gives_composed_names_and_labels(tmp_path):
    rows(apart).to_csv(tmp_path / "t.csv", index=False)
    source = QuerySource(f"SELECT * FROM 't.csv' ORDER BY \"{apart(NAME)}\", n", tmp_path)
    assert source.columns() == (NAME, "n")
    table = source.read(dpmosaic.Domain.from_json(DOMAIN))
    assert table.marginal((NAME,)).tolist() == [75, 25]


def test_a_draft_lists_a_label_once(tmp_path):
    table = pd.concat([rows(apart)] * 4)
    table.to_csv(tmp_path / "t.csv", index=False)
    for draft in (draft_file(tmp_path / "t.csv"), dpmosaic.draft(table)):
        assert sorted(draft.domain[NAME].categories) == ["Bern", LABEL]


@pytest.mark.parametrize(
    "form", [{NAME: 2, apart(NAME): 2}, {"x": [LABEL, apart(LABEL)]}], ids=["names", "labels"]
)
def test_a_domain_in_which_two_become_one_is_refused(form):
    with pytest.raises(DataError, match=r"two spellings|listed twice"):
        dpmosaic.Domain.from_json(form)


def test_a_table_in_which_two_columns_become_one_is_refused(tmp_path):
    table = pd.DataFrame({NAME: ["Bern"] * 9, apart(NAME): ["Bern"] * 9})
    table.to_csv(tmp_path / "t.csv", index=False)
    for data in (table, tmp_path / "t.csv"):
        with pytest.raises(DataError, match=r"twice|one name"):
            dpmosaic.synthesize(data, domain={NAME: ["Bern", LABEL]}, epsilon=1.0, ledger=False)


@pytest.mark.slow
def test_a_key_is_found_however_it_is_written():
    table = pd.DataFrame({apart(NAME): [*"aabbcc"] * 10, "n": [0, 1, 2] * 20})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        release = dpmosaic.synthesize(
            table, key=apart(NAME), domain={"n": 3}, epsilon=50.0, seed=1, ledger=False
        )
    assert NAME in release.table.columns


def test_a_policy_names_columns_composed(tmp_path):
    text = f'[source]\ndomain = "d.json"\nfile = "{apart(NAME)}.csv"\nkey = "{apart(NAME)}"\n'
    (tmp_path / "policy.toml").write_text(text, encoding="utf-8")
    source = read_policy(tmp_path)["source"]
    assert source == {"domain": "d.json", "file": apart(NAME) + ".csv", "key": NAME}


@pytest.mark.slow
def test_the_pattern_finds_every_text_that_changes_when_composed():
    pattern, rng = re.compile(decomposed_pattern()), random.Random(3)
    beyond = [chr(n) for n in range(0x80, 0x20000) if not 0xD800 <= n < 0xE000]
    marks = [one for one in beyond if unicodedata.combining(one)]
    for _ in range(20_000):
        text = "".join(rng.choice(rng.choice((beyond, marks, "aeoAEO"))) for _ in range(rng.randint(1, 5)))
        assert pattern.search(text) or compose(text) == text
    for usual in ("Zürich", "हिन्दी", "서울", "ابن رشد", "Århus", "Đà Nẵng"):
        assert not pattern.search(usual)

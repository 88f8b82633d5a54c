from fractions import Fraction

import pytest

from dpmosaic.common.errors import BudgetError, DataError
from dpmosaic.common.privacy.cost import ALL_ROWS, Adjacency
from dpmosaic.party.names import POLICY
from dpmosaic.party.policies import template as policy_template
from dpmosaic.party.policies.file import Settings
from dpmosaic.party.policies.policy import Policy, Records
from dpmosaic.party.sources.query import QuerySource
from dpmosaic.party.sources.source import FileSource

SOURCE = '[source]\ndomain = "domain.json"\n'
KEYED = SOURCE + 'key = "id"\n'
NAMED = KEYED + 'identifiers = { national_id = "nid", surname = "name" }\n'


def settings(folder, text, domain='{"a": 2}'):
    (folder / "domain.json").write_text(domain)
    (folder / POLICY).write_text(text)
    return Settings.load(folder)


def test_a_domain_that_nobody_has_reviewed_is_refused_unless_the_policy_allows_it(tmp_path):
    unreviewed = '{"a": {"type": "codes", "n": 2, "reviewed": false}, "b": 2}'
    with pytest.raises(DataError, match="entries that were read from the rows: a;"):
        settings(tmp_path, SOURCE, unreviewed)
    assert settings(
        tmp_path, SOURCE + "[policy]\nallow_unreviewed = true\n", unreviewed
    ).domain.unreviewed == ("a",)


def test_the_file_that_init_writes_allows_nothing(tmp_path):
    made = settings(tmp_path, policy_template.TEMPLATE)
    assert made.approval
    assert made.key is None
    assert made.policy.records.same_as is None
    assert made.policy == Policy(min_records=100, dealers=frozenset())


def test_keys_that_are_left_out_allow_nothing(tmp_path):
    made = settings(tmp_path, SOURCE)
    assert made.approval
    assert made.policy == Policy(dealers=frozenset())


def test_every_limit_is_read(tmp_path):
    text = """[policy]
protocols = ["masked"]
adjacencies = ["replace-one"]
max_release_rho = 0.5
lifetime_rho = 2
max_cells = 7
min_records = 8
min_tolerated = 2
max_alignment_rho = 0.25
max_match_keys = 3
max_labels_delta = 1e-10
lifetime_labels_delta = 1e-9
min_parties = 4
veto_evaluators = ["lab"]
dealers = ["curator", "dealer"]
min_dealers = 3
may_deal = true
require_check = true
max_memory_mb = 5
max_disk_mb = 6
max_cpu_seconds = 9
max_queries = 10
max_active_releases = 11
approval = false
[records]
same_as = ["clinic"]
together = true
[serve]
listen = "0.0.0.0:1"
"""
    made = settings(tmp_path, SOURCE + 'key = "id"\n' + text)
    assert made.policy == Policy(
        frozenset({"masked"}), frozenset({Adjacency.REPLACE_ONE}), Fraction(1, 2), Fraction(2), 8, 7, 2,
        Records(frozenset({"clinic"}), together=True), 1, 4, frozenset({"lab"}),
        frozenset({"curator", "dealer"}), 3, True, Fraction(1, 4), 3, 1e-10, True, 5, 6, 9, 10, 11, 1e-9,
    )  # fmt: skip
    assert (made.key, made.identifiers) == ("id", {"key": "id"})
    assert (made.approval, made.serve.listen) == (False, "0.0.0.0:1")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[source]\n", r"domain in \[source\]: expected a text, found nothing"),
        (SOURCE + "[limits]\n", r"\[limits\]: unknown key; it has source"),
        ("source = 3\n", r"\[source\]: expected a table"),
        (SOURCE + "[policy]\nmax_rho = 1\n", r"max_rho in \[policy\]: unknown key"),
        (SOURCE + "[policy]\nmax_cells = true\n", "a whole number of at least 0, got true"),
        (SOURCE + "[policy]\nmax_cells = 1.5\n", "a whole number of at least 0, got 1.5"),
        (SOURCE + "[policy]\napproval = 0\n", "true or false, got 0"),
        (SOURCE + "[policy]\nmax_release_rho = -1\n", "expected a number of at least 0, got -"),
        (SOURCE + "[policy]\nmax_labels_delta = -1e-9\n", "expected a number of at least 0, got -"),
        (SOURCE + "[policy]\nmax_labels_delta = nan\n", "a number of at least 0, got nan"),
        (SOURCE + "[policy]\nlifetime_rho = inf\n", "a number of at least 0, got inf"),
        (SOURCE + "[policy]\nlifetime_rho = nan\n", "a number of at least 0, got nan"),
        (SOURCE + "[policy]\nprotocols = [1]\n", "expected a text, got 1"),
        (SOURCE + "[policy]\nveto_evaluators = [1]\n", "expected a text, got 1"),
        (SOURCE + "[policy]\nmin_parties = 0\n", "at least 1"),
        (SOURCE + "[policy]\nmin_dealers = 0\n", "at least 1"),
        (SOURCE + "[policy]\nmay_deal = 1\n", "true or false, got 1"),
        (SOURCE + "[policy]\ndealers = [1]\n", "expected a text, got 1"),
        (SOURCE + "[policy]\nmax_memory_mb = 0\n", "at least 1"),
        (SOURCE + "[policy]\nmax_cpu_seconds = 1.5\n", "a whole number"),
        (SOURCE + "[policy]\nmax_rows_per_person = 0\n", "at least 1"),
        (SOURCE + "[policy]\nmax_rows_per_person = 2\n", "needs a key"),
        (SOURCE + '[policy]\nmax_rows_per_person = "all"\n', "needs a key"),
        (
            SOURCE + '[policy]\nmax_rows_per_person = "some"\n',
            "a whole number of at least 1 and at most 1e.09 or all, got",
        ),
        (SOURCE + "[records]\nsame_as = [1]\n", "expected a text, got 1"),
        (SOURCE + '[records]\norder = "sorted"\n', "expected guaranteed, got 'sorted'"),
        (SOURCE + 'key = "id"\n[records]\norder = "guaranteed"\n', "take order"),
        (SOURCE + "[policy]\nmax_alignment_rho = 0.1\n", "needs a key or identifiers"),
        (SOURCE + "[policy]\nmax_alignment_rho = -1\n", "expected a number of at least 0, got -"),
        (KEYED + "[policy]\nmax_alignment_rho = 1\nmax_rows_per_person = 2\n", "one row of a person"),
        (SOURCE + 'identifiers = "nid"\n', "expected a table, got a text"),
        (
            SOURCE + "identifiers = { national_id = 3 }\n",
            "national_id in .source.: expected the name of a column",
        ),
        (
            SOURCE + 'identifiers = { national_id = "" }\n',
            "national_id in .source.: expected the name of a column",
        ),
        (SOURCE + "identifiers = { 'a:b' = 'nid' }\n", "lower-case letters, digits and underscores.*'a:b'"),
        (SOURCE + 'key = "a"\n', "column 'a' identifies people"),
        (SOURCE + 'identifiers = { national_id = "a" }\n', "column 'a' identifies people"),
        (SOURCE + '[direct]\nsend = { b = "b" }\n', r"send b in \[direct\]: expected HOST:PORT"),
        (SOURCE + "[direct]\ntake = 'b'\n", "expected a list of names, got a text"),
        (SOURCE + "[policy\n", "not TOML"),
    ],
)
def test_an_inconsistent_policy_is_refused(tmp_path, text, reason):
    with pytest.raises(DataError, match=reason):
        settings(tmp_path, text)


def test_the_rows_of_a_person_are_bounded(tmp_path):
    made = settings(tmp_path, KEYED + "[policy]\nmax_rows_per_person = 3\n")
    assert made.policy == Policy(max_rows_per_person=3, dealers=frozenset())


@pytest.mark.parametrize("aligned", ["", "max_alignment_rho = 1\n"])
def test_all_rows_of_a_person_are_used_if_the_policy_says_so(tmp_path, aligned):
    made = settings(tmp_path, KEYED + f'[policy]\n{aligned}max_rows_per_person = "all"\n')
    assert made.policy.max_rows_per_person == ALL_ROWS
    assert Policy().max_rows_per_person == 1


def test_identifiers_are_agreed_names_of_columns(tmp_path):
    made = settings(tmp_path, NAMED + "[policy]\nmax_alignment_rho = 0.1\n")
    assert made.identifiers == {"national_id": "nid", "surname": "name"}


def test_a_policy_that_allows_no_alignment_reads_no_identifiers(tmp_path):
    assert settings(tmp_path, NAMED).identifiers == {}


def test_a_guaranteed_order_is_read(tmp_path):
    made = settings(tmp_path, SOURCE + '[records]\nsame_as = []\norder = "guaranteed"\n')
    assert made.policy.records == Records(frozenset(), order_guaranteed=True)


def test_an_adjacency_that_does_not_exist_is_refused(tmp_path):
    with pytest.raises(BudgetError, match="replace-two"):
        settings(tmp_path, SOURCE + '[policy]\nadjacencies = ["replace-two"]\n')


def test_a_folder_without_a_policy_is_refused(tmp_path):
    with pytest.raises(DataError, match="dpmosaic party init"):
        Settings.load(tmp_path)


def test_rows_come_from_a_file_or_a_query(tmp_path):
    (tmp_path / "rows.csv").write_text("a\n1\n")
    assert settings(tmp_path, SOURCE + 'file = "rows.csv"').source() == FileSource(tmp_path / "rows.csv")
    for header in (True, False):
        made = settings(tmp_path, SOURCE + f'file = "rows.csv"\nheader = {str(header).lower()}').source()
        assert made == FileSource(tmp_path / "rows.csv", header)
    query = "SELECT 1 AS a ORDER BY a"
    made = settings(tmp_path, SOURCE + f'query = "{query}"').source()
    assert made == QuerySource(query, tmp_path)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "one of file, query, table or kind"),
        ('file = "rows.csv"\nquery = "SELECT 1"', "one of file, query, table or kind"),
        ('file = "rows.csv"\ndatabase = "rows.duckdb"', "goes with query"),
        ('file = "rows.csv"\noptions = { a = 1 }', "go with kind"),
        ('query = "SELECT 1 ORDER BY 1"\nheader = false', "header in .source. goes with file"),
        ('kind = "acme"', "one that an installed package brings .none., got 'acme'"),
        ('query = "SELECT 1 ORDER BY 1"\ndatabase = "rows.duckdb"', "found none"),
    ],
)
def test_an_inconsistent_source_is_refused(tmp_path, text, reason):
    made = settings(tmp_path, SOURCE + text)
    with pytest.raises(DataError, match=reason):
        made.source()
